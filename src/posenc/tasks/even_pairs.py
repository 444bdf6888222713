"""Even pairs: is the number of unequal neighbours odd?"""

import math
from itertools import pairwise

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import rearrange


class EvenPairs(Task):
    """n bits in, one bit out: 1 where 01 and 10 together occur an odd number of times, else 0.

        prompt  0 1 0 0 1
        answer  1

    Length counts the bits. Order matters: the answer says whether the first and the last bit
    differ, so a single bit always gives 0. Bits are independent and uniform: Delétang et al. 2022
    (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843).
    """

    vocabulary = Vocabulary("01")

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt = torch.randint(2, (n, length), generator=generator, device=generator.device)
        return Sample(prompt, prompt[:, :1] ^ prompt[:, -1:])

    def solve(self, prompt: list[int]) -> list[int]:
        unequal = [left != right for left, right in pairwise(prompt)]
        return [unequal.count(True) % 2]

    def chance(self, length: int) -> Chance:
        """Sums, over the number k of ones, the commoner answer among the C(n, k) arrangements.

        The ends differ in 2 C(n - 2, k - 1) of them.
        """
        if length == 1:
            return Chance(1.0, 1.0)
        right = 2  # the two constant strings, known to have equal ends
        for ones in range(1, length):
            differ = 2 * math.comb(length - 2, ones - 1)
            right += max(differ, math.comb(length, ones) - differ)
        return Chance(right / 2**length, right / 2**length)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
