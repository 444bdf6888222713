"""Abacus positions: every digit's place in its number, so that digits of equal weight meet.

Numbers count from 1 at their first digit; what is no digit gets 0. McLeish et al., arXiv
2405.17399, for numbers written with the least significant digit first, and a table that adds to the
embedding. In training one offset from 0 to 99 is added to all places of a batch, so that its
numbers count from 1 to 100 on, and the rows of longer numbers are trained, too.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Slots
from posenc.positions.marked import Marked, moved


class Abacus(Marked):
    """The place of each digit, in training plus an offset from 0 to `max_offset`.

    Raises ConfigError for a negative `max_offset`, and for a task without numbers.
    """

    def __init__(self, *, max_offset: int = 99) -> None:
        if max_offset < 0:
            raise ConfigError(f"positions.max_offset={max_offset}: must be 0 or more")
        self.max_offset = max_offset

    def marks(self, slots: Slots) -> Tensor:
        if slots.places is None:
            raise ConfigError("positions=abacus: the task has no numbers; choose one that has")
        return slots.places

    def bound(self, slots: Slots) -> int:
        return self.bound_at_eval(slots) + self.max_offset

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return moved(self.marks(slots), torch.randint(self.max_offset + 1, (), generator=generator))
