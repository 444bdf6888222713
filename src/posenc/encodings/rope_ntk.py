"""NTK-aware scaling: RoPE with a larger base in evaluation, which slows slow pairs the most.

    angle(id, c) = id * (base * s^(K/(K-2)))^(-2c/K) = id * base^(-2c/K) * s^(-2c/(K-2))

with s = tested length / trained length: the fastest pair stays as it is, the slowest becomes s
times slower. The static form, described by Peng et al., arXiv 2309.00071; it has no paper of its
own. Past the trained length neighbours stay as far apart as trained, while pairs between the
fastest and the slowest still reach angles somewhat beyond the trained ones. One factor acts at
every tested length, so trained lengths may suffer.
"""

import torch
from torch import Tensor

from posenc.encodings.scaled_rope import ScaledRoPE
from posenc.errors import ConfigError
from posenc.shapes import Shape


class NTKAwareRoPE(ScaledRoPE):
    """Slows pair c down by s^(2c/(K-2)).

    Raises ConfigError unless `factor_at_eval` is at least 1, or None, which stands for 1; for heads
    of 2 channels or of odd width, and unless `base` is positive.
    """

    def __init__(
        self, shape: Shape, *, factor_at_eval: float | None = None, base: float = 10000.0
    ) -> None:
        super().__init__(shape, factor_at_eval=factor_at_eval, base=base)
        if shape.head_width == 2:
            raise ConfigError(
                f"model.width={shape.width} with model.heads={shape.heads} gives heads of one "
                "pair, the one that rope_ntk never slows: make heads wider"
            )

    def frequencies(self, device: torch.device) -> Tensor:
        plain = super().frequencies(device)
        pair = torch.arange(len(plain), dtype=torch.float64, device=device)
        return plain * self.factor ** (-pair / (len(plain) - 1))
