"""What sums and products of two binary numbers of any sizes share."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.binary import bits_of, numbers, positive
from posenc.tasks.shared.strings import ended, rearrange
from posenc.tasks.shared.tried import met_chance, tried_chance

SIGN, END = 2, 3
TRIED = 12
"""The longest prompts that are all tried."""
DRAWN = 600_000, 20_000
"""Tokens of the prompts of an estimated chance, and the most prompts."""


class BinaryOperation(Task):
    """Two binary numbers, joined by a sign, in, and another one out.

    All are written with the least significant bit first.
    """

    chance_error = 0.02
    sign: ClassVar[str]
    spare: ClassVar[int]
    """How many more answer places there are than prompt tokens."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(["0", "1", self.sign, "end"])

    @abstractmethod
    def result(self, first: Any, second: Any) -> Any:
        """Of two Python integers, or of arrays of them."""

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        device = generator.device
        if length <= 2:
            number = torch.randint(2**length - 1, (n, 1), generator=generator, device=device)
            return self._short(number, length)
        first = torch.randint(1, length - 1, (n, 1), generator=generator, device=device)
        sizes = torch.cat([first, length - 1 - first], dim=1)
        return self._joined(first, positive(sizes, length - 2, generator))

    def _short(self, number: Tensor, length: int) -> Sample:
        """(n,1) numbers -> problems of 1 or 2 tokens, which hold one number; the other is 0."""
        prompt = number >> torch.arange(length, device=number.device) & 1
        return self._posed(prompt, torch.stack([prompt, torch.zeros_like(prompt)], dim=1))

    def _joined(self, first: Tensor, operands: Tensor) -> Sample:
        """(n,1) how many bits the first of two numbers has, (n,2,L) bits -> the problems."""
        width = operands.shape[2]
        place = torch.arange(width + 2, device=first.device)
        source = place.where(place < first, width - 1 + place - first)
        prompt = operands.flatten(1).gather(1, source).where(place != first, SIGN)
        return self._posed(prompt, operands)

    def _posed(self, prompt: Tensor, operands: Tensor) -> Sample:
        places = prompt.shape[1] + self.spare
        result = self.result(*map(numbers, operands.unbind(dim=1)))
        bits = bits_of(result, places).to(prompt.device)
        place = torch.arange(1, places + 1, device=prompt.device)
        size = (bits * place).amax(dim=1).clamp(1).clamp(max=places - 1)
        return self.marked(Sample(prompt, *ended(bits, size, END)))

    def marked(self, sample: Sample) -> Sample:
        """Places count from 1 in either number and in the answer, to whose end they tell nothing.

        Bits of weight 2^t are coupled by the id 2 + t; the sign and `?` have 1. Cho et al. 2024,
        arXiv:2405.20671, couple sums in this way, and products in the opposite direction.
        """
        rows, tokens = sample.prompt.shape
        sign = sample.prompt == SIGN
        place = torch.arange(tokens, device=sign.device)
        after = sign.cumsum(dim=1) * ((sign * place).sum(dim=1, keepdim=True) + 1)
        answer = torch.arange(sample.answer.shape[1] + 1, device=sign.device).expand(rows, -1)
        places = torch.cat([place + 1 - after, answer], dim=1)
        return sample._replace(places=places, coordinates=places[..., None] + 1)

    def solve(self, prompt: list[int]) -> list[int]:
        text = "".join(self.vocabulary.symbols[token] for token in prompt)
        parts = text.split(self.sign)
        if len(parts) == 1 and text in ("0", "00", "10", "01"):
            parts.append("0")
        elif len(parts) != 2 or any(set(part) | {"0"} != {"0", "1"} for part in parts):
            raise ValueError(
                f"the prompt is not two positive binary numbers, joined by {self.sign}"
            )
        result = self.result(*(int(part[::-1], 2) for part in parts))
        bits = [int(bit) for bit in reversed(f"{result:b}")]
        return [*bits[: self.room(prompt) - 1], END]

    def room(self, prompt: list[int]) -> int:
        """As many as the largest result and its `end` need, or more; the same at every length."""
        return len(prompt) + self.spare

    def chance(self, length: int) -> Chance:
        """Exact up to 12 tokens, where all prompts are tried, and then estimated.

        A bag is a number of ones, so a guesser knows them all from prompts as they are drawn.
        """
        if length <= TRIED:
            return tried_chance(*self._all(length))
        rows = min(DRAWN[0] // length, DRAWN[1])
        return met_chance(self.sample(rows, length, torch.Generator().manual_seed(0)))

    def _all(self, length: int) -> tuple[Sample, Tensor]:
        """All problems, and how likely each is."""
        if length <= 2:
            return self._short(torch.arange(2**length - 1)[:, None], length), torch.ones(
                2**length - 1
            )
        firsts, pairs, likely = [], [], []
        for first in range(1, length - 1):
            sizes = first, length - 1 - first
            pair = torch.cartesian_prod(*(torch.arange(1, 2**size) for size in sizes)).view(-1, 2)
            firsts.append(torch.full((len(pair), 1), first))
            pairs.append(pair)
            likely.append(torch.full((len(pair),), 1 / len(pair), dtype=torch.float64))
        operands = torch.cat(pairs)[..., None] >> torch.arange(length - 2) & 1
        return self._joined(torch.cat(firsts), operands), torch.cat(likely)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Rearranges the bits of either number."""
        if SIGN not in prompt:
            return rearrange(prompt, generator)
        sign = int((prompt == SIGN).nonzero())
        first, second = (rearrange(p, generator) for p in (prompt[:sign], prompt[sign + 1 :]))
        return torch.cat([first, prompt[sign : sign + 1], second])
