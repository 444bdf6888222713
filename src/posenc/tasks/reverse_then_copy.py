"""Reverse, then copy: put out the prompt backwards, [NEXT], and the prompt."""

import torch
from torch import Tensor

from posenc.tasks.shared.picking import NEXT, Picking, parted


class ReverseThenCopy(Picking):
    """n symbols in, the same backwards, [NEXT], the same forwards; length counts the symbols in.

        prompt  7 42 0
        answer  0 42 7 [NEXT] 7 42 0

    Order matters. Symbols are drawn uniformly with replacement, 100 by default: Kazemnejad et al.
    2023 (arXiv:2305.19466), who train on up to 20 symbols and test on up to 40.
    """

    sign = NEXT

    def __init__(self, *, symbols: int = 100) -> None:
        super().__init__(symbols=symbols)

    def source(self, length: int) -> Tensor:
        return parted(torch.arange(length).flip(0), torch.arange(length))

    def solve(self, prompt: list[int]) -> list[int]:
        copy = self.without_sign(prompt)
        return [*copy[::-1], self.symbols, *copy]
