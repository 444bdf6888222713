"""Copy: put out the prompt."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.strings import arrangement_chance, distinct, numbered, rearrange


class Copy(Task):
    """n symbols in, the same n symbols out; length counts the symbols of the prompt.

        prompt  7 42 7 0
        answer  7 42 7 0

    Order matters. As in Kazemnejad et al. 2023 (arXiv:2305.19466), symbols are drawn uniformly
    with replacement, 100 by default. `unique=True` draws without: no prompt holds a symbol twice.
    """

    def __init__(self, *, symbols: int = 100, unique: bool = False) -> None:
        if unique not in (True, False):
            raise ConfigError(f"task.unique={unique}: must be true or false")
        self.vocabulary = numbered(symbols)
        self.unique = unique

    def lengths(self, low: int, high: int) -> list[int]:
        """All of them. Raises ConfigError where there are fewer unique symbols than `high`."""
        self._check_symbols(high)
        return super().lengths(low, high)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where there are fewer unique symbols than places."""
        self._check_symbols(length)
        symbols = len(self.vocabulary)
        if self.unique:
            prompt = distinct(n, length, symbols, generator)
        else:
            prompt = torch.randint(symbols, (n, length), generator=generator)
        return self.marked(Sample(prompt, prompt.clone()))

    def marked(self, sample: Sample) -> Sample:
        """Couples symbol t = 1, 2, ... of the prompt and of the answer by the id 1 + t; `?` has 1.

        Cho et al. 2024, arXiv:2405.20671.
        """
        ids = torch.arange(2, sample.prompt.shape[1] + 2)
        coupled = torch.cat([ids, ids.new_ones(1), ids])
        return sample._replace(coordinates=coupled[None, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        return list(prompt)

    def chance(self, length: int) -> Chance:
        """One of the n! orders where symbols are unique, else see `arrangement_chance`."""
        if self.unique:
            return Chance(1 / math.factorial(length), 1 / length)
        return arrangement_chance(length, len(self.vocabulary))

    def _check_symbols(self, length: int) -> None:
        symbols = len(self.vocabulary)
        if self.unique and length > symbols:
            raise ConfigError(
                f"task.symbols={symbols}: too few for {length} unique symbols; set task.symbols="
                f"{length} or more, length.test={symbols} or less, or task.unique=false"
            )

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
