"""Sinusoids of the distance in place of positions, with a learned query of its own for distances.

    logit(i, j) = [(q_i + u) . k_j + (q_i + v) . W s(i - j)] / sqrt(K)
    s(x) = sin(x w_c) for every c, then cos(x w_c),  w_c = base^(-2c/D)

Dai et al., arXiv 1901.02860, for a causal decoder; XLNet uses the same rule in both directions.
Past the trained length s is defined, but slow waves reach phases that were never trained.

sin(i - j) and cos(i - j) expand into products of waves at i and at j. So the second term is an
inner product of what a query makes of its waves with the waves of the key, and both terms are one
product of wider queries and keys, for any ids and without a vector for every pair.
"""

from typing import cast

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.encodings.frequencies import check_base, geometric
from posenc.shapes import Shape

Waves = tuple[Tensor, Tensor]
"""Sines and cosines of the phases, each (1 or B, 1, T, ceil(D/2)) float64."""


class TransformerXL(Encoding):
    """Has a matrix W in each layer; all layers share u and v, as the paper's formula has it.

    W starts as the projections of the content do, u and v with spread 0.02, as published.

    Raises ConfigError unless `base` is positive.
    """

    per_layer = True

    def __init__(self, shape: Shape, *, base: float = 10000.0) -> None:
        super().__init__(shape)
        self.base = check_base(base)
        waves = shape.width + shape.width % 2
        self.to_keys = nn.Linear(waves, shape.width, bias=False)  # W
        self.u, self.v = (
            nn.Parameter(0.02 * torch.randn(shape.heads, 1, shape.head_width)) for _ in range(2)
        )

    def share(self, first: Encoding) -> None:
        shared = cast(TransformerXL, first)
        self.u, self.v = shared.u, shared.v

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Waves, Waves]:
        return self._waves(query_ids), self._waves(key_ids)

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Waves, Waves]) -> tuple[Tensor, Tensor]:
        (sin_i, cos_i), (sin_j, cos_j) = ([wave.to(q.dtype) for wave in waves] for waves in tables)
        weight = self.to_keys.weight.unflatten(0, (self.shape.heads, -1))  # (H,K,waves)
        of_sin, of_cos = ((q + self.v.to(q.dtype)) @ weight).chunk(2, dim=-1)
        asked = [of_sin * sin_i + of_cos * cos_i, of_cos * sin_i - of_sin * cos_i]
        waves_j = torch.cat([cos_j, sin_j], dim=-1).expand(*k.shape[:3], -1)
        return torch.cat([q + self.u.to(q.dtype), *asked], dim=-1), torch.cat([k, waves_j], dim=-1)

    def _waves(self, ids: Tensor) -> Waves:
        phases = ids[:, None, :, None] * geometric(self.shape.width, self.base, ids.device)
        return phases.sin(), phases.cos()
