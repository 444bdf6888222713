"""Position interpolation: RoPE whose pairs all turn more slowly, in evaluation alone.

    angle(id, c) = id / s * base^(-2c/K),  s = tested length / trained length

Chen et al., arXiv 2306.15595, who train a little more with the slower angles; here nothing is
trained again. Past the trained length angles stay within the trained ones, but neighbours stand s
times closer than they ever did, at short lengths too.

One fixed factor acts at every tested length, so trained lengths suffer: on the default task an
encoder falls below an exact match of 0.9 there, and is reported as not fitted. Under
`positions=interpolated`, and `past_end=interpolate` of `learned`, every length has a factor of its
own, and trained ones stay as they are.
"""

import torch
from torch import Tensor

from posenc.encodings.scaled_rope import ScaledRoPE


class PositionInterpolation(ScaledRoPE):
    """Divides all frequencies by the factor.

    Raises ConfigError unless `factor_at_eval` is at least 1, or None, which stands for 1; for heads
    of odd width, and unless `base` is positive.
    """

    def frequencies(self, device: torch.device) -> Tensor:
        return super().frequencies(device) / self.factor
