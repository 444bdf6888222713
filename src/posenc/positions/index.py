"""The place in the sequence, 0, 1, 2, ...: what a position means unless said otherwise."""

import torch
from torch import Tensor

from posenc.positions.base import Positions, Slots, index


class Index(Positions):
    """Every row gets 0 to T-1, in training and in evaluation."""

    def bound(self, slots: Slots) -> int:
        return slots.tokens

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return index(slots)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return index(slots)
