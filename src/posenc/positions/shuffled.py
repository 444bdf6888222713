"""Shuffled positions: a control that destroys order.

Every token keeps an id of its own, but which one says nothing about its place, so whatever a model
still solves it does without order. Made for this project.
"""

import torch
from torch import Tensor

from posenc.positions.base import Positions


class Shuffled(Positions):
    """A fresh random permutation of 0 to T-1 for every row, in training and in evaluation."""

    def bound(self, length: int) -> int:
        return length

    def train(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        return torch.rand(rows, length, generator=generator).argsort(dim=-1)

    def evaluate(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        return self.train(rows, length, generator)
