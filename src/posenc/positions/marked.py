"""What two sources share that take ids from the task and move them in training alone."""

from abc import abstractmethod

import torch
from torch import Tensor

from posenc.positions.base import Positions, Slots


class Marked(Positions):
    """Ids from 0, which stands for none and stays. Raises ConfigError for a task without them."""

    @abstractmethod
    def marks(self, slots: Slots) -> Tensor:
        """(1 or rows, tokens) int64 from 0; raises ConfigError where the task has none."""

    def bound_at_eval(self, slots: Slots) -> int:
        return int(self.marks(slots).max()) + 1

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self.marks(slots)


def moved(ids: Tensor, offset: Tensor) -> Tensor:
    """Adds to all ids but 0, so that training meets those of longer problems, too."""
    return torch.where(ids > 0, ids + offset, 0)
