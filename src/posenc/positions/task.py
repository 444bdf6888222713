"""Position coupling: the task gives one id to all tokens that belong together.

In an addition, digits of equal weight in both numbers and in the sum are such tokens. Cho et al.,
arXiv 2405.20671; and several ids a token, one for each part of a combined encoding, arXiv
2410.15787. In training a batch counts from a random start, so that the ids of longer problems are
trained, too; 0 stays with what belongs to nothing.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Positions, Slots


class Coupled(Positions):
    """Column `coordinate` of the task's own ids, in training plus an offset up to `max_offset`.

    Raises ConfigError for a negative setting, and for a task without such a column.
    """

    def __init__(self, *, coordinate: int = 0, max_offset: int = 99) -> None:
        for key, value in {"coordinate": coordinate, "max_offset": max_offset}.items():
            if value < 0:
                raise ConfigError(f"positions.{key}={value}: must be 0 or more")
        self.coordinate = coordinate
        self.max_offset = max_offset

    def bound(self, slots: Slots) -> int:
        return self.bound_at_eval(slots) + self.max_offset

    def bound_at_eval(self, slots: Slots) -> int:
        return int(self._coupled(slots).max()) + 1

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        ids = self._coupled(slots)
        offset = torch.randint(self.max_offset + 1, (), generator=generator)
        return torch.where(ids > 0, ids + offset, 0)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self._coupled(slots)

    def _coupled(self, slots: Slots) -> Tensor:
        if slots.coordinates is None:
            raise ConfigError("positions=task: the task couples no tokens; choose one that does")
        columns = slots.coordinates.shape[-1]
        if self.coordinate >= columns:
            raise ConfigError(
                f"positions.coordinate={self.coordinate}: the task gives {columns} ids to a "
                f"token, so {columns - 1} is the last"
            )
        return slots.coordinates[..., self.coordinate]
