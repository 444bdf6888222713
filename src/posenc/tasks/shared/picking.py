"""What tasks share that put out symbols of the prompt, at places that the length alone decides."""

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn.functional import pad

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import arrangement_chance, numbered, rearrange

NEXT = "[NEXT]"
"""Parts two strings of one answer."""
END = "end"
"""Follows an answer whose length is to be told, too."""


class Picking(Task):
    """n symbols in, symbols of the prompt out; `source` says which, and where a sign stands."""

    sign: str | None = None
    """NEXT, END or none: a symbol of its own that answers alone hold, after all others."""

    def __init__(self, *, symbols: int) -> None:
        self.vocabulary = numbered(symbols, *[] if self.sign is None else [self.sign])
        self.symbols = symbols

    @abstractmethod
    def source(self, length: int) -> Tensor:
        """(A,) int64: of each answer token its place in the prompt, from 0; n stands for a sign."""

    def ids(self, length: int) -> Tensor:
        """(n+1,) int64: by which id each symbol of the prompt is coupled, and last that of `?`."""
        return torch.cat([torch.arange(2, length + 2), torch.ones(1, dtype=torch.int64)])

    def draw(self, n: int, length: int, generator: torch.Generator) -> Tensor:
        """(n,P) prompts: symbols are independent and uniform."""
        return torch.randint(
            self.symbols, (n, length), generator=generator, device=generator.device
        )

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt = self.draw(n, length, generator)
        source = self.source(length).to(prompt.device)
        return self.marked(Sample(prompt, pad(prompt, (0, 1), value=self.symbols)[:, source]))

    def marked(self, sample: Sample) -> Sample:
        """Couples every answer token with the symbol of the prompt that it repeats.

        Symbol t = 1, 2, ... has the id 1 + t and `?` has 1, as Cho et al. 2024, arXiv:2405.20671,
        have it for a copy; in the tasks that only reverse the prompt, symbol t has the id t and `?`
        one more than the last, as in their code. A sign has the id of `?`.
        """
        length = sample.prompt.shape[1]
        ids = self.ids(length)
        coupled = torch.cat([ids, ids[self.source(length)]])
        return sample._replace(coordinates=coupled[None, :, None].to(sample.prompt.device))

    def without_sign(self, prompt: list[int]) -> list[int]:
        """The prompt; raises ValueError where it holds what answers alone do."""
        if self.sign is not None and self.symbols in prompt:
            raise ValueError(f"the prompt holds {self.sign}, which answers alone do")
        return prompt

    def chance(self, length: int) -> Chance:
        """See `arrangement_chance`: a bag tells the symbols that are put out but not their order.

        Where a sign stands is known.
        """
        exact, symbol = arrangement_chance(length, self.symbols)
        known = (self.source(length) == length).double().mean().item()
        return Chance(exact, symbol + (1 - symbol) * known)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)


def parted(first: Tensor, second: Tensor) -> Tensor:
    """(n,), (n,) -> (2n+1,): two strings of n places each, and [NEXT] between them."""
    return torch.cat([first, torch.tensor([len(first)]), second])
