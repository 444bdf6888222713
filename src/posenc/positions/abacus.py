"""Abacus positions: every digit's place in its number, so that digits of equal weight meet.

Numbers count from 1 at their first digit; what is no digit gets 0. McLeish et al., arXiv
2405.17399, for numbers written with the least significant digit first, and a table that adds to the
embedding. In training all numbers of a batch start at one random offset more, up to 100, so that
the rows of longer numbers are trained, too.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Positions, Slots


class Abacus(Positions):
    """The place of each digit, in training plus an offset from 0 to `max_offset`.

    Raises ConfigError for a negative `max_offset`, and for a task without numbers.
    """

    def __init__(self, *, max_offset: int = 99) -> None:
        if max_offset < 0:
            raise ConfigError(f"positions.max_offset={max_offset}: must be 0 or more")
        self.max_offset = max_offset

    def bound(self, slots: Slots) -> int:
        return self.bound_at_eval(slots) + self.max_offset

    def bound_at_eval(self, slots: Slots) -> int:
        return int(_places(slots).max()) + 1

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        places = _places(slots)
        offset = torch.randint(self.max_offset + 1, (), generator=generator)
        return torch.where(places > 0, places + offset, 0)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return _places(slots)


def _places(slots: Slots) -> Tensor:
    if slots.places is None:
        raise ConfigError("positions=abacus: the task has no numbers; choose one that has")
    return slots.places
