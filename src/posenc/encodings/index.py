"""The raw number of the position, along one learned direction.

    x + id * w

The naive scheme that textbooks reject, since what it adds grows without bound. Past the trained
length the added vector is longer than any that training has seen. A direction is needed, because a
number added to every channel alike is removed again, exactly, where LayerNorm subtracts the mean.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.shapes import Shape


class Index(Encoding):
    """Adds id * w before the first layer.

    w starts as a random vector of length about 1: a step of one position moves a token by one unit
    whatever the width, and the first few dozen ids do not drown the content of the tokens.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.direction = nn.Parameter(torch.randn(shape.width) / shape.width**0.5)

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + (ids[..., None] * self.direction).to(x.dtype)
