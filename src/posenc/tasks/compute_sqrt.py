"""Compute sqrt: put out the square root of a binary number, rounded down."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.binary import bits_of, numbers, positive, roots
from posenc.tasks.shared.strings import rearrange
from posenc.tasks.shared.tried import met_chance, tried_chance

TRIED = 14
"""The longest prompts that are all tried."""
DRAWN = 600_000, 20_000
"""Bits of the prompts of an estimated chance, and the most prompts."""


class ComputeSqrt(Task):
    """A binary number in, its square root, rounded down, out; length counts the bits of the prompt.

        prompt  0 1 0 1 0 1
        answer  1 0 0

    The root of 21 is 4. Order matters. Numbers are uniform over 1 ... 2^n - 1, with the most
    significant bit first and zeros before it up to n bits; roots likewise, with half as many bits,
    rounded up: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843). Some
    of their examples are not rounded down, but their code rounds down all roots.
    """

    vocabulary = Vocabulary("01")
    chance_error = 0.02

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        sizes = torch.full((n,), length, device=generator.device)
        return self._posed(positive(sizes, length, generator))

    def _posed(self, bits: Tensor) -> Sample:
        """(n,P) bits, least significant first -> the problems."""
        root = bits_of(roots(numbers(bits)), (bits.shape[1] + 1) // 2).to(bits.device)
        return self.marked(Sample(bits.flip(1), root.flip(1)))

    def marked(self, sample: Sample) -> Sample:
        """Places count from 1 in either number.

        Couples the bit of weight 2^t of the root with those of 2^2t and 2^(2t+1), as long-hand
        roots do, by the id 2 + t; `?` has one more than the first bit of the root.
        """
        bits, root = (torch.arange(part.shape[1], device=part.device) for part in sample[:2])
        places = torch.cat([bits + 1, root[:1], root + 1])
        ask = root[-1:] + 3
        coupled = torch.cat([(2 + bits // 2).flip(0), ask, (2 + root).flip(0)])
        return sample._replace(places=places[None], coordinates=coupled[None, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        number = sum(bit << weight for weight, bit in enumerate(reversed(prompt)))
        if number == 0:
            raise ValueError("the prompt is not a positive binary number")
        root = 0
        for weight in reversed(range((len(prompt) + 1) // 2)):
            if (root + 2**weight) ** 2 <= number:
                root += 2**weight
        return [int(bit) for bit in f"{root:0{(len(prompt) + 1) // 2}b}"]

    def chance(self, length: int) -> Chance:
        """Exact up to 14 bits, where all numbers are tried, and then estimated.

        A bag is a number of ones, so a guesser knows them all from prompts as they are drawn.
        """
        if length <= TRIED:
            number = torch.arange(1, 2**length)[:, None]
            return tried_chance(self._posed(number >> torch.arange(length) & 1))
        rows = min(DRAWN[0] // length, DRAWN[1])
        return met_chance(self.sample(rows, length, torch.Generator().manual_seed(0)))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
