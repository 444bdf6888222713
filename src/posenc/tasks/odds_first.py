"""Odds first: put out every other symbol of the prompt, then those between."""

import torch
from torch import Tensor

from posenc.errors import check_choice
from posenc.tasks.shared.picking import Picking

FIRST = {"odd": 0, "even": 1}
"""Places that come first, and how many symbols there are before the first of them."""


class OddsFirst(Picking):
    """n symbols in, out come those at odd places, then the others; length counts the symbols in.

        prompt  0 1 0 0 1 0
        answer  0 0 1 1 0 0

    Order matters. Places count from 1, so the 1st, 3rd, 5th, ... symbols come first. Symbols are
    independent and uniform, 2 by default: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al.
    2023 (arXiv:2305.16843), who train on up to 40 symbols and test on up to 500. Their published
    code puts the 2nd, 4th, 6th, ... first, against their text: `first=even`.
    """

    def __init__(self, *, symbols: int = 2, first: str = "odd") -> None:
        super().__init__(symbols=symbols)
        self.skipped = FIRST[check_choice("task.first", first, FIRST)]

    def source(self, length: int) -> Tensor:
        place = torch.arange(length)
        return torch.cat([place[self.skipped :: 2], place[1 - self.skipped :: 2]])

    def solve(self, prompt: list[int]) -> list[int]:
        halves: dict[bool, list[int]] = {True: [], False: []}
        for place, symbol in enumerate(prompt, start=1):
            halves[place % 2 == 1].append(symbol)
        odd_first = self.skipped == 0
        return halves[odd_first] + halves[not odd_first]
