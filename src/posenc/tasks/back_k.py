"""Back k: put out the symbol that stands k places before the end."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance
from posenc.tasks.shared.picking import Picking
from posenc.tasks.shared.strings import check_whole, symbol_chance


class BackK(Picking):
    """n symbols in, the k-th from the end out; length counts the symbols, at least k of them.

        prompt  7 4 4 0 2 9
        answer  0

    Order matters. k=3 by default; k=1 asks for the last symbol, k=2 for the one before it. Symbols
    are independent and uniform, 10 by default. The task is this project's own.
    """

    def __init__(self, *, symbols: int = 10, k: int = 3) -> None:
        super().__init__(symbols=symbols)
        self.minimum = self.k = check_whole("task.k", k, 1)

    def source(self, length: int) -> Tensor:
        return torch.tensor([length - self.k])

    def ids(self, length: int) -> Tensor:
        """Symbol t = 1, 2, ... has the id 1 + t, `?` one less than the symbol that is asked for."""
        return torch.cat([torch.arange(2, length + 2), torch.tensor([length + 1 - self.k])])

    def solve(self, prompt: list[int]) -> list[int]:
        if len(prompt) < self.k:
            raise ValueError(f"the prompt has fewer than {self.k} symbols")
        return [prompt[-self.k]]

    def chance(self, length: int) -> Chance:
        """See `symbol_chance`."""
        return symbol_chance(length, self.symbols)
