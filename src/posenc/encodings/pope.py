"""Polar coordinate embedding: content sets how much a channel counts, position alone its angle.

    logit(i, j) = sum_c softplus(q_i,c) softplus(k_j,c) cos((j - i) base^(-c/K) + delta_c) / sqrt(K)

over all K channels of a head, each with a frequency of its own, where RoPE has pairs. delta is
learned per head and channel, shared by all layers as in the libraries that carry PoPE, and clamped
to [-2 pi, 0] where it is used. Gopalakrishnan et al., arXiv 2509.10534. Past the trained length
slow channels reach differences in angle that were never trained, as in RoPE.

With delta at 0 a score is even in the distance: left and right look alike to an encoder until delta
has moved. A delta that training pushes above 0 counts as 0 and, without a gradient, stays there.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from posenc.encodings.base import Encoding
from posenc.encodings.frequencies import check_base, geometric
from posenc.errors import check_choice
from posenc.shapes import Shape

Angle = tuple[Tensor, Tensor]
"""Cosines and sines, each (1 or B, 1 or H, T, K) float64."""
STARTS = ("zero", "uniform")


class PoPE(Encoding):
    """Makes of every channel of queries and keys two, its magnitude times cosine and times sine.

    The published `start` of delta: `zero`, or `uniform` over a whole turn.

    Raises ConfigError for another `start`, and unless `base` is positive.
    """

    def __init__(self, shape: Shape, *, start: str = "zero", base: float = 10000.0) -> None:
        super().__init__(shape)
        self.base = check_base(base)
        start = check_choice("encoding.start", start, STARTS)
        turns = torch.rand if start == "uniform" else torch.zeros
        self.delta = nn.Parameter(-2 * math.pi * turns(shape.heads, 1, shape.head_width))

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Angle, Angle]:
        delta = self.delta.double().clamp(-2 * math.pi, 0)
        return self._angle(query_ids), self._angle(key_ids, delta)

    def _angle(self, ids: Tensor, delta: Tensor | float = 0.0) -> Angle:
        frequencies = geometric(2 * self.shape.head_width, self.base, ids.device)
        angles = ids[:, None, :, None] * frequencies + delta
        return angles.cos(), angles.sin()

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Angle, Angle]) -> tuple[Tensor, Tensor]:
        return polar(q, tables[0]), polar(k, tables[1])


def polar(x: Tensor, angle: Angle) -> Tensor:
    """(B,H,T,K) -> (B,H,T,2K)."""
    cos, sin = (table.to(x.dtype) for table in angle)
    magnitude = softplus(x)
    return torch.cat([magnitude * cos, magnitude * sin], dim=-1)
