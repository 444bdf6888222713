"""Fixed sines and cosines of the position, added as loudly as one learned scale says.

    x + s * PE(id),  PE that of `sinusoidal`

Hua et al., arXiv 2202.10447 (FLASH). Their sinusoids stand in two halves, sines then cosines; here
they alternate, the same up to a fixed permutation of the channels. Past the trained length the
formula goes on, and the network meets vectors that it was never trained on, as without a scale.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.sinusoidal import Sinusoidal
from posenc.shapes import Shape


class ScaledSinusoidal(Sinusoidal):
    """Adds the sinusoid of each id times a scale that starts at 1/sqrt(D).

    A row then starts with length sqrt(1/2) whatever the width, far quieter than a bare sinusoid.

    Raises ConfigError unless `base` is positive.
    """

    def __init__(self, shape: Shape, *, base: float = 10000.0) -> None:
        super().__init__(shape, base=base)
        self.scale = nn.Parameter(torch.tensor(shape.width**-0.5))

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + (self.scale * self.waves(ids)).to(x.dtype)
