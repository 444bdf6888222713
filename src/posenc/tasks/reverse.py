"""Reverse string: put out the prompt, last symbol first."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.strings import arrangement_chance, numbered, rearrange


class Reverse(Task):
    """n symbols in, the same n symbols out, backwards; length counts the symbols of the prompt.

        prompt  0 0 1 0 1
        answer  1 0 1 0 0

    Order matters. Symbols are independent and uniform, 2 by default, and nothing ends the answer:
    Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843).
    """

    def __init__(self, *, symbols: int = 2) -> None:
        self.vocabulary = numbered(symbols)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt = torch.randint(len(self.vocabulary), (n, length), generator=generator)
        return self.marked(Sample(prompt, prompt.flip(1)))

    def marked(self, sample: Sample) -> Sample:
        """Couples symbol t = 1, 2, ... of the prompt with its mirror image by the id t; `?` has one
        more than the last.

        The code of Cho et al. 2024, arXiv:2405.20671.
        """
        ids = torch.arange(1, sample.prompt.shape[1] + 2)
        coupled = torch.cat([ids, ids[:-1].flip(0)])
        return sample._replace(coordinates=coupled[None, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        return prompt[::-1]

    def chance(self, length: int) -> Chance:
        """See `arrangement_chance`: a bag tells the tokens of the answer but not their order."""
        return arrangement_chance(length, len(self.vocabulary))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
