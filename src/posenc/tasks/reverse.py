"""Reverse string: put out the prompt, last symbol first."""

import torch
from torch import Tensor

from posenc.tasks.shared.picking import Picking


class Reverse(Picking):
    """n symbols in, the same n symbols out, backwards; length counts the symbols of the prompt.

        prompt  0 0 1 0 1
        answer  1 0 1 0 0

    Order matters. Symbols are independent and uniform, 2 by default, and nothing ends the answer:
    Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843). Coordinates
    are those of the code of Cho et al. 2024 (arXiv:2405.20671).
    """

    def __init__(self, *, symbols: int = 2) -> None:
        super().__init__(symbols=symbols)

    def source(self, length: int) -> Tensor:
        return torch.arange(length).flip(0)

    def ids(self, length: int) -> Tensor:
        return torch.arange(1, length + 2)

    def solve(self, prompt: list[int]) -> list[int]:
        return prompt[::-1]
