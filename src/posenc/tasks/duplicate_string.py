"""Duplicate string: put out the prompt twice."""

import torch
from torch import Tensor

from posenc.tasks.shared.picking import Picking


class DuplicateString(Picking):
    """n symbols in, the same n symbols twice out; length counts the symbols of the prompt.

        prompt  0 1 1
        answer  0 1 1 0 1 1

    Order matters. Symbols are independent and uniform, 2 by default, and nothing parts the copies
    or ends the answer: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023
    (arXiv:2305.16843), who train on up to 40 symbols and test on up to 500.
    """

    def __init__(self, *, symbols: int = 2) -> None:
        super().__init__(symbols=symbols)

    def source(self, length: int) -> Tensor:
        return torch.arange(length).repeat(2)

    def solve(self, prompt: list[int]) -> list[int]:
        return [*prompt, *prompt]
