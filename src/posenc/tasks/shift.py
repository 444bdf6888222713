"""Shift: put out the prompt, rotated by some places."""

import torch
from torch import Tensor

from posenc.tasks.shared.picking import Picking
from posenc.tasks.shared.strings import check_whole


class Shift(Picking):
    """n symbols in, the same n symbols out, but the first k come last; length counts the symbols.

        prompt  7 4 4 0 2 9
        answer  0 2 9 7 4 4

    Order matters. k=3 by default. The string is a ring, so k counts modulo n: with k=n it comes out
    as it went in. Symbols are independent and uniform, 10 by default. The task is this project's
    own.
    """

    def __init__(self, *, symbols: int = 10, k: int = 3) -> None:
        super().__init__(symbols=symbols)
        self.k = check_whole("task.k", k, 1)

    def source(self, length: int) -> Tensor:
        return torch.arange(length).roll(-self.k)

    def solve(self, prompt: list[int]) -> list[int]:
        ring = list(prompt)
        for _ in range(self.k % len(prompt)):
            ring.append(ring.pop(0))
        return ring
