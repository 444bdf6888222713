"""Attention with linear biases: a penalty on the logit that grows with the distance.

    bias(i, j) = -slope * |i - j|,  one fixed slope for each head, from steep to shallow

Press et al., arXiv 2108.12409, who define it for a causal decoder. Without a causal mask the
distance is taken in both directions, so left and right weigh the same and a text and its mirror
image look alike. Past the trained length the penalty only grows, which narrows what a head sees.
"""

import torch
from torch import Tensor

from posenc.encodings.pairwise import PairwiseBias
from posenc.shapes import Shape


class ALiBi(PairwiseBias):
    """Adds a bias without parameters, the same in every layer."""

    slopes: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        slopes = torch.tensor(slopes_of(shape.heads))
        self.register_buffer("slopes", slopes, persistent=False)  # (H,)

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        return linear(self.slopes, i, j)


def linear(slopes: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """-slope * |i - j|: (H,), (1 or B, Q, 1), (1 or B, 1, T) -> (1 or B, H, Q, T)."""
    return -slopes[:, None, None] * (i - j).abs()[:, None]


def slopes_of(heads: int) -> list[float]:
    """The published slopes: 2^(-8/n), 2^(-16/n), ... for n heads where n is a power of two.

    Other counts take the slopes of the power below, then every other slope of the power above.
    """
    power = 2 ** (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    between = [2 ** (-4 * (head + 1) / power) for head in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]
