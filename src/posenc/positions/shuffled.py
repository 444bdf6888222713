"""Shuffled positions: a control that destroys order.

Every token keeps an id of its own, but which one says nothing about its place, so whatever a model
still solves it does without order. Made for this project.
"""

import torch
from torch import Tensor

from posenc.positions.base import Positions, Slots


class Shuffled(Positions):
    """A fresh random permutation of 0 to T-1 for every row, in training and in evaluation."""

    def bound(self, slots: Slots) -> int:
        return slots.tokens

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return torch.rand(slots.rows, slots.tokens, generator=generator).argsort(dim=-1)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self.train(slots, generator)
