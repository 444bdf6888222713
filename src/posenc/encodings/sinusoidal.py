"""Fixed sines and cosines of the position, added to the token embeddings.

    PE(id, 2c) = sin(id / base^(2c/D)),  PE(id, 2c+1) = cos(id / base^(2c/D))

Vaswani et al., arXiv 1706.03762. Every id has a vector of its own, and for a fixed k the vector of
id + k is one linear map of the vector of id. Nothing is learned or stored. Past the trained length
the formula goes on; whether the network can use it there is another question.
"""

import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.encodings.frequencies import check_base, geometric
from posenc.shapes import Shape


class Sinusoidal(Encoding):
    """Adds the sinusoid of each id; an odd width has one sine more than cosines.

    Textbooks keep a table in a buffer. Here it is computed from the ids, whatever they are: a
    table would end somewhere, weigh down checkpoints, and be rounded by `.to(torch.bfloat16)`.

    Raises ConfigError unless `base` is positive.
    """

    def __init__(self, shape: Shape, *, base: float = 10000.0) -> None:
        super().__init__(shape)
        self.base = check_base(base)

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + self.waves(ids).to(x.dtype)

    def waves(self, ids: Tensor) -> Tensor:
        """(1 or B, T) -> (1 or B, T, D) float64."""
        phases = ids[..., None] * geometric(self.shape.width, self.base, ids.device)
        waves = torch.stack([phases.sin(), phases.cos()], dim=-1).flatten(-2)
        return waves[..., : self.shape.width]
