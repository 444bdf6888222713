"""What two sources share that take ids from the task: an offset in training, none afterwards."""

from abc import abstractmethod

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Positions, Slots


class Marked(Positions):
    """Ids from 0, which stands for none and stays; in training one offset a batch moves the others.

    It is drawn from 0 to `max_offset`, so that training meets the ids of longer problems, too.

    Raises ConfigError for a negative `max_offset`, and for a task without such ids.
    """

    def __init__(self, *, max_offset: int = 99) -> None:
        if max_offset < 0:
            raise ConfigError(f"positions.max_offset={max_offset}: must be 0 or more")
        self.max_offset = max_offset

    @abstractmethod
    def marks(self, slots: Slots) -> Tensor:
        """(1 or rows, tokens) int64 from 0; raises ConfigError where the task has none."""

    def bound(self, slots: Slots) -> int:
        return self.bound_at_eval(slots) + self.max_offset

    def bound_at_eval(self, slots: Slots) -> int:
        return int(self.marks(slots).max()) + 1

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        ids = self.marks(slots)
        offset = torch.randint(self.max_offset + 1, (), generator=generator)
        return torch.where(ids > 0, ids + offset, 0)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self.marks(slots)
