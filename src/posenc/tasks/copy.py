"""Copy: put out the prompt."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance
from posenc.tasks.shared.picking import END, Picking
from posenc.tasks.shared.strings import check_flag, distinct


class Copy(Picking):
    """n symbols in, the same n symbols out; length counts the symbols of the prompt.

        prompt  7 42 7 0
        answer  7 42 7 0

    Order matters. As in Kazemnejad et al. 2023 (arXiv:2305.19466), symbols are drawn uniformly
    with replacement, 100 by default. `unique=True` draws without: no prompt holds a symbol twice.
    With `end=True` a sign ends the answer, so that its length has to be told as well, which is what
    their networks do. Coordinates are those of Cho et al. 2024 (arXiv:2405.20671).
    """

    def __init__(self, *, symbols: int = 100, unique: bool = False, end: bool = False) -> None:
        self.unique = check_flag("task.unique", unique)
        self.end = check_flag("task.end", end)
        self.sign = END if end else None
        super().__init__(symbols=symbols)

    def lengths(self, low: int, high: int) -> list[int]:
        """All of them. Raises ConfigError where there are fewer unique symbols than `high`."""
        self._check_symbols(high)
        return super().lengths(low, high)

    def draw(self, n: int, length: int, generator: torch.Generator) -> Tensor:
        """Raises ConfigError where there are fewer unique symbols than places."""
        self._check_symbols(length)
        if self.unique:
            return distinct(n, length, self.symbols, generator)
        return super().draw(n, length, generator)

    def source(self, length: int) -> Tensor:
        return torch.arange(length + self.end)

    def solve(self, prompt: list[int]) -> list[int]:
        return [*self.without_sign(prompt), *[self.symbols] * self.end]

    def chance(self, length: int) -> Chance:
        """One of the n! orders where symbols are unique, else see `arrangement_chance`.

        Where the answer ends is known.
        """
        if self.unique:
            return Chance(1 / math.factorial(length), (1 + self.end) / (length + self.end))
        return super().chance(length)

    def _check_symbols(self, length: int) -> None:
        if self.unique and length > self.symbols:
            raise ConfigError(
                f"task.symbols={self.symbols}: too few for {length} unique symbols; set "
                f"task.symbols={length} or more, length.test={self.symbols} or less, or "
                "task.unique=false"
            )
