"""Reverse twice: put out the prompt backwards, [NEXT], and that again."""

from torch import Tensor

from posenc.tasks.reverse import Reverse
from posenc.tasks.shared.picking import NEXT, parted


class ReverseTwice(Reverse):
    """n symbols in, the same backwards and twice, parted by [NEXT]; length counts the symbols in.

        prompt  7 42 0
        answer  0 42 7 [NEXT] 0 42 7

    Order matters. Symbols are drawn uniformly with replacement, 100 by default: Kazemnejad et al.
    2023 (arXiv:2305.19466), who train on up to 20 symbols and test on up to 40.
    """

    sign = NEXT

    def __init__(self, *, symbols: int = 100) -> None:
        super().__init__(symbols=symbols)

    def source(self, length: int) -> Tensor:
        backwards = super().source(length)
        return parted(backwards, backwards)

    def solve(self, prompt: list[int]) -> list[int]:
        backwards = self.without_sign(prompt)[::-1]
        return [*backwards, self.symbols, *backwards]
