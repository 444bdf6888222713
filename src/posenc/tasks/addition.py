"""Addition: put out the sum of two numbers."""

from torch import Tensor

from posenc.tasks.shared.arithmetic import Arithmetic
from posenc.tasks.shared.sums import carried


class Addition(Arithmetic):
    """Two numbers in, their sum out; length counts the digits of the first, or of the longer one.

        prompt  6 1 1 + 8 4 0
        answer  4 6 1 0

    That is 116 + 048 = 0164. Order matters. By default both numbers have n digits and are uniform
    over 0 ... base^n - 1, filled up with zeros, so problems of fewer digits occur among them; the
    sum has n + 1.

    `order=reversed padded=false second=any` is the format of McLeish et al. 2024
    (arXiv:2405.17399), who train on all pairs of sizes up to 20 equally often, so that here, where
    the larger size is drawn first, small sizes are met more often. `order=answer_reversed` is Cho
    et al. 2024 (arXiv:2405.20671), who fill up the number that is drawn with fewer digits.
    `hints=true` is Zhou et al. 2024 (arXiv:2402.09371).
    """

    sign = "+"

    def width(self, first: int, second: int) -> int:
        return max(first, second) + 1

    def answer(self, numbers: Tensor, width: int) -> Tensor:
        return carried(numbers.sum(dim=1), self.base)

    def result(self, first: int, second: int) -> int:
        return first + second
