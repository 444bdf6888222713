"""Subtraction: put out the difference of two numbers."""

from torch import Tensor

from posenc.tasks.shared.arithmetic import Arithmetic
from posenc.tasks.shared.sums import carried


class Subtraction(Arithmetic):
    """Two numbers in, their difference out; length counts the digits of the first.

        prompt  6 1 1 - 8 4 0
        answer  8 6 0

    That is 116 - 048 = 068. Order matters. The larger of two uniform numbers comes first, so no
    difference is negative; `second` never has more digits than the first. McLeish et al. 2024
    (arXiv:2405.17399) and Lee et al. 2023 (arXiv:2307.03381) let numbers come as they are drawn and
    write a sign before a negative difference. By default both numbers and the difference have n
    digits.
    """

    sign = "-"
    falling = True

    def width(self, first: int, second: int) -> int:
        return first

    def answer(self, numbers: Tensor, width: int) -> Tensor:
        """Adds the second number's complement, base^width - 1 less it, and 1, and drops base^width.

        The 1 may lift the lowest place to 2 base - 1: it still hands on a single carry.
        """
        places = numbers[:, 0] + (self.base - 1 - numbers[:, 1])
        places[:, 0] += 1
        return carried(places, self.base)[:, :width]

    def result(self, first: int, second: int) -> int:
        return first - second
