"""RoPE that turns more slowly once it is trained, so that longer texts stay within its angles.

What position interpolation, NTK-aware scaling and YaRN have in common; which pairs slow down, and
by how much, is what they differ in.
"""

from posenc.encodings.rope import RoPE
from posenc.errors import at_least_one
from posenc.shapes import Shape


class ScaledRoPE(RoPE):
    """RoPE in training mode; in evaluation mode slower, for texts `factor_at_eval` times as long.

    The factor is one number for all lengths: were it to follow the length, earlier tokens would
    change as a text grows, and a decoder would answer otherwise than it was tested.

    Raises ConfigError unless `factor_at_eval` is at least 1, or None, which stands for 1; for heads
    of odd width, and unless `base` is positive.
    """

    def __init__(
        self, shape: Shape, *, factor_at_eval: float | None = None, base: float = 10000.0
    ) -> None:
        super().__init__(shape, base=base)
        self.factor_at_eval = at_least_one("encoding.factor_at_eval", factor_at_eval, alone=1.0)

    @property
    def factor(self) -> float:
        return 1.0 if self.training else self.factor_at_eval
