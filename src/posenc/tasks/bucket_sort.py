"""Bucket sort: put out the prompt in ascending order."""

import math

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import numbered, rearrange


class BucketSort(Task):
    """n symbols in, the same n symbols out, sorted; length counts the symbols of the prompt.

        prompt  4 0 2 0 3
        answer  0 0 2 3 4

    The order of the prompt does not matter. That of the answer does: a network that cannot tell
    its answer slots apart fails too. Symbols are independent and uniform, 5 by default, and nothing
    ends the answer: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843).
    """

    order_matters = False

    def __init__(self, *, symbols: int = 5) -> None:
        self.vocabulary = numbered(symbols)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        symbols, device = len(self.vocabulary), generator.device
        prompt = torch.randint(symbols, (n, length), generator=generator, device=device)
        return Sample(prompt, prompt.sort(1).values)

    def solve(self, prompt: list[int]) -> list[int]:
        buckets = [prompt.count(symbol) for symbol in range(len(self.vocabulary))]
        return [symbol for symbol, count in enumerate(buckets) for _ in range(count)]

    def chance(self, length: int) -> Chance:
        """The likeliest string for `exact`, the likeliest symbol of every slot for `token`.

        The likeliest string holds all symbols as equally often as can be. Slot i (from 0) holds at
        most the symbol s where more than i of the n draws do, each with probability (s + 1) / V.
        """
        symbols = len(self.vocabulary)
        each, rest = divmod(length, symbols)
        orders = math.factorial(length) // (math.factorial(each) ** symbols * (each + 1) ** rest)

        draws = torch.arange(length + 1, dtype=torch.float64)
        share = torch.arange(symbols + 1, dtype=torch.float64)[:, None] / symbols
        ways = torch.lgamma(draws + 1) + torch.lgamma(length - draws + 1)
        log_law = draws.xlogy(share) + (length - draws).xlogy(1 - share) - ways
        more_than = log_law.softmax(1).flip(1).cumsum(1).flip(1)[:, 1:]
        return Chance(orders / symbols**length, more_than.diff(dim=0).amax(0).mean().item())

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
