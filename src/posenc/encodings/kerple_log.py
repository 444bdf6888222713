"""KERPLE, logarithmic: a learned penalty that grows ever more slowly with the distance.

    bias(i, j) = -r1 * log(1 + r2 * |i - j|),  r1 > 0 and r2 > 0 learned for each head

Chi et al., arXiv 2205.09921, who define it for a causal decoder. In an encoder the distance is
taken in both directions, which is our reading: left and right weigh the same and mirror images
look alike. Their code overwrites parameters below 0.01 in every forward pass; here they are
0.01 + softplus(raw), which has the same range and always a gradient. Past the trained length the
penalty goes on growing, by about r1 * log(2) for every doubling of the distance.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from posenc.encodings.pairwise import PairwiseBias
from posenc.shapes import Shape

FLOOR = 0.01
"""Below every parameter, as in the authors' code."""


class KERPLELog(PairwiseBias):
    """Adds a bias with two parameters for each head, shared by all layers as published.

    r1 starts uniform up to 2 and r2 up to 1, as in the authors' code.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.raw_r1 = nn.Parameter(raw_uniform(shape.heads, 2.0))
        self.raw_r2 = nn.Parameter(raw_uniform(shape.heads, 1.0))

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        r1, r2 = (positive(raw)[:, None, None] for raw in (self.raw_r1, self.raw_r2))
        return -r1 * (r2 * (i - j).abs()[:, None]).log1p()


def positive(raw: Tensor) -> Tensor:
    """Any number -> one above FLOOR."""
    return FLOOR + softplus(raw)


def raw_uniform(heads: int, highest: float) -> Tensor:
    """(H,): what `positive` maps to numbers uniform in (FLOOR, highest)."""
    return ((highest - FLOOR) * uniform(heads)).expm1().log()


def uniform(heads: int) -> Tensor:
    """(H,) uniform in (0, 1), a margin away from both ends, which only infinity maps to."""
    return torch.rand(heads).clamp(1e-3, 1 - 1e-3)
