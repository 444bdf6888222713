"""YaRN: RoPE whose slow pairs are interpolated in evaluation and whose fast ones are left alone.

    logit(i, j) = R(i) q_i . R(j) k_j / sqrt(K) * (0.1 ln s + 1)^2,  s = tested / trained length
    R(id) turns pair c by id * base^(-2c/K) * (1 - ramp(c) + ramp(c) / s)

The ramp rises from 0 at the pair that turns `beta_fast` times within the trained length to 1 at the
one that turns `beta_slow` times. Peng et al., arXiv 2309.00071. The paper's ramp is linear in the
number of turns; the authors' code and transformers, followed here, make it linear in c between
whole pairs. Past the trained length slow pairs stay within trained angles, as by interpolation, and
fast ones tell neighbours apart, as by RoPE.

A text of 20 tokens holds few turns: all pairs but the first one or two are then interpolated as by
`rope_linear`, and logits are sharper. As there, one factor acts at every tested length, so trained
lengths may suffer.
"""

import math

import torch
from torch import Tensor

from posenc.encodings.rope import Turn
from posenc.encodings.scaled_rope import ScaledRoPE
from posenc.errors import ConfigError, at_least_one
from posenc.shapes import Shape


class YaRN(ScaledRoPE):
    """Slows pairs down by their place on the ramp.

    `trained_length` is the longest one in tokens; None stands for 20, the default of training.

    Raises ConfigError unless `factor_at_eval` and the whole number `trained_length` are None or at
    least 1, 0 < `beta_slow` < `beta_fast` and `base` > 1, and for heads of odd width.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        factor_at_eval: float | None = None,
        trained_length: int | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        base: float = 10000.0,
    ) -> None:
        super().__init__(shape, factor_at_eval=factor_at_eval, base=base)
        length = at_least_one("encoding.trained_length", trained_length, alone=20, whole=True)
        if not base > 1:
            raise ConfigError(f"encoding.base={base}: must be above 1, 10000 is usual")
        if not 0 < beta_slow < beta_fast < math.inf:
            raise ConfigError(
                f"encoding.beta_slow={beta_slow}: must be above 0 and below "
                f"encoding.beta_fast={beta_fast}"
            )

        def pair(turns: float) -> float:
            """The one that turns so often within the trained length; between two, a fraction."""
            radians = math.log(2 * math.pi) + math.log(turns)
            return shape.head_width * (math.log(length) - radians) / (2 * math.log(base))

        self.low = max(math.floor(pair(beta_fast)), 0)
        high = min(math.ceil(pair(beta_slow)), shape.head_width - 1)
        self.high = max(high, self.low + 0.001)  # a step where there is no room for a ramp

    def turn(self, ids: Tensor) -> Turn:
        cos, sin = super().turn(ids)
        sharpness = 0.1 * math.log(self.factor) + 1
        return cos * sharpness, sin * sharpness

    def frequencies(self, device: torch.device) -> Tensor:
        plain = super().frequencies(device)
        pair = torch.arange(len(plain), dtype=torch.float64, device=device)
        ramp = ((pair - self.low) / (self.high - self.low)).clamp(0, 1)
        return plain.lerp(plain / self.factor, ramp)
