"""The frequencies that sinusoids and rotations share: base^(-2c/width) radians a step, pair c."""

import torch
from torch import Tensor

from posenc.errors import ConfigError


def geometric(width: int, base: float, device: torch.device) -> Tensor:
    """(ceil(width / 2),) float64: 1 for the first pair of channels, falling towards 1 / base.

    In float64, because a phase near 4000 in float32 is off by up to 2e-4. Made where it is used
    rather than kept in a buffer, because `module.to(torch.bfloat16)` would round a buffer.
    """
    channel = torch.arange(0, width, 2, dtype=torch.float64, device=device)
    return base ** (-channel / width)


def check_base(base: float) -> float:
    """Returns `base`; raises ConfigError where it is not positive."""
    if not base > 0:
        raise ConfigError(f"encoding.base={base}: must be positive, 10000 is usual")
    return base
