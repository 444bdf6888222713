"""Multiplication: put out the product of two numbers."""

import torch
from torch import Tensor

from posenc.tasks.shared.arithmetic import Arithmetic
from posenc.tasks.shared.sums import carried


class Multiplication(Arithmetic):
    """Two numbers in, their product out; length counts the digits of the first, or of the longer.

        prompt  6 1 * 8 4
        answer  8 6 7 0

    That is 16 * 48 = 0768. Order matters. By default both numbers have n digits and the product has
    2n.

    `padded=false second=any` is the format of McLeish et al. 2024 (arXiv:2405.17399), who train on
    all pairs of sizes up to 15. `order=answer_reversed second=2` is Cho et al. 2024
    (arXiv:2405.20671), who also take 1; their ids fall from the lowest digit on, where those here
    rise: only which of them are equal matters.
    """

    sign = "*"

    def width(self, first: int, second: int) -> int:
        return first + second

    def answer(self, numbers: Tensor, width: int) -> Tensor:
        """Convolves the digits, then hands on what is `base` or more, until carries are 0 or 1.

        The transform errs by less than 1e-6 at 500 digits, so rounding is exact.
        """
        spectrum = torch.fft.rfft(numbers.double(), width)
        places = torch.fft.irfft(spectrum.prod(dim=1), width).round().long()
        largest = (self.base - 1) ** 2 * numbers.shape[2]
        while largest > 2 * (self.base - 1):
            carries = places // self.base
            places %= self.base
            places[:, 1:] += carries[:, :-1]
            largest = self.base - 1 + largest // self.base
        return carried(places, self.base)[:, :width]

    def result(self, first: int, second: int) -> int:
        return first * second
