"""Parity: is the number of ones odd?"""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import rearrange


class Parity(Task):
    """n bits in, one bit out: the number of ones modulo 2; length counts the bits.

        prompt  1 0 1 1
        answer  1

    Order does not matter: it is a control, hard for another reason than order. Bits are independent
    and uniform: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843).
    """

    vocabulary = Vocabulary("01")
    order_matters = False

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt = torch.randint(2, (n, length), generator=generator, device=generator.device)
        return Sample(prompt, prompt.sum(1, keepdim=True) % 2)

    def solve(self, prompt: list[int]) -> list[int]:
        odd = 0
        for bit in prompt:
            odd ^= bit
        return [odd]

    def chance(self, length: int) -> Chance:
        """One half: flipping the first bit pairs every odd string with an even one."""
        return Chance(0.5, 0.5)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
