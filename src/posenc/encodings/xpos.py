"""xPos: RoPE under which a key counts less the farther it lies behind the query.

    logit(i, j) = sum_c (R(i) q_i)_c . (R(j) k_j)_c * zeta_c^((i - j) / scale_base) / sqrt(K)
    zeta_c = (2c/K + 0.4) / 1.4,  R(id) turns pair c by id * base^(-2c/K)

Sun et al., arXiv 2212.10554; 512 for `scale_base` comes from their code. A key ahead would grow
without bound, so it is defined for decoders alone. Past the trained length far keys fade, those of
the fastest pairs first, and what is left turns by angles as untrained as RoPE's.
"""

import torch
from torch import Tensor

from posenc.encodings.rope import RoPE, Turn
from posenc.errors import ConfigError
from posenc.shapes import Shape

LARGEST = 32.0
"""The largest logarithm of a factor: a product of two, e^64, leaves room for content in float32."""
ORIGINS = 8
"""Origins lie this many `scale_base` apart."""


class XPos(RoPE):
    """Turns queries and keys, shrinks queries and stretches keys.

    Factors are relative to an origin near the first id, or large ids would overflow. They stop
    growing about 25 `scale_base` from there, 13,000 ids; decays are exact up to that.

    Raises ConfigError for an encoder, for heads of odd width, and for settings not above 0.
    """

    causal_only = True

    def __init__(self, shape: Shape, *, scale_base: float = 512.0, base: float = 10000.0) -> None:
        super().__init__(shape, base=base)
        if not scale_base > 0:
            raise ConfigError(f"encoding.scale_base={scale_base}: must be positive, 512 is usual")
        self.scale_base = scale_base

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Turn, Turn]:
        # In coarse steps, and from the first id: results then do not depend, by their rounding, on
        # tokens to come. Any origin is right in exact arithmetic, since it cancels.
        origin = (key_ids[:, :1] / (ORIGINS * self.scale_base)).floor() * ORIGINS
        return self._faded(query_ids, origin, 1), self._faded(key_ids, origin, -1)

    def _faded(self, ids: Tensor, origin: Tensor, sign: int) -> Turn:
        pair = torch.arange(self.shape.head_width // 2, dtype=torch.float64, device=ids.device)
        zeta = (2 * pair / self.shape.head_width + 0.4) / 1.4
        power = (ids.double() / self.scale_base - origin)[:, None, :, None]
        factor = (sign * power * zeta.log()).clamp(-LARGEST, LARGEST).exp()
        factor = torch.cat([factor, factor], dim=-1)
        cos, sin = self.turn(ids)
        return cos * factor, sin * factor
