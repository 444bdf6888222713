"""The place in the sequence, 0, 1, 2, ...: what a position means unless said otherwise."""

import torch
from torch import Tensor

from posenc.positions.base import Positions, index


class Index(Positions):
    """Every row gets 0 to T-1, in training and in evaluation."""

    def bound(self, length: int) -> int:
        return length

    def train(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        return index(length)

    def evaluate(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        return index(length)
