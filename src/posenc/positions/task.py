"""Position coupling: the task gives one id to all tokens that belong together.

In an addition, digits of equal weight in both numbers and in the sum are such tokens. Cho et al.,
arXiv 2405.20671; and several ids a token, one for each part of a combined encoding, arXiv
2410.15787. In training every problem counts from a start of its own, so that the ids of longer
problems are trained, too; 0 stays with what belongs to nothing.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Slots
from posenc.positions.marked import Marked, moved


class Coupled(Marked):
    """Column `coordinate` of the task's own ids, in training moved up for every problem.

    By how much is uniform over all that leaves its largest id at `max_position` or below, so the
    ids up to there are trained, whatever the length, and those of longer problems are not. An
    addition of n digits takes those up to n + 2, or n + 3 in plain order.

    Raises ConfigError for a setting out of range, for a task without such a column, and, as
    `bound`, for a trained problem whose ids go beyond `max_position`.
    """

    def __init__(self, *, coordinate: int = 0, max_position: int = 102) -> None:
        if coordinate < 0:
            raise ConfigError(f"positions.coordinate={coordinate}: must be 0 or more")
        if max_position < 1:
            raise ConfigError(f"positions.max_position={max_position}: must be at least 1")
        self.coordinate = coordinate
        self.max_position = max_position

    def marks(self, slots: Slots) -> Tensor:
        if slots.coordinates is None:
            raise ConfigError("positions=task: the task couples no tokens; choose one that does")
        columns = slots.coordinates.shape[-1]
        if self.coordinate >= columns:
            raise ConfigError(
                f"positions.coordinate={self.coordinate}: the task gives {columns} ids to a "
                f"token, so {columns - 1} is the last"
            )
        return slots.coordinates[..., self.coordinate]

    def bound(self, slots: Slots) -> int:
        largest = self.bound_at_eval(slots) - 1
        if largest > self.max_position:
            raise ConfigError(
                f"positions.max_position={self.max_position}: problems of a trained length have "
                f"ids up to {largest}, set positions.max_position={largest} or more"
            )
        return self.max_position + 1

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        ids = self.marks(slots)
        choices = self.max_position + 1 - ids.amax(dim=1, keepdim=True)
        drawn = torch.rand(slots.rows, 1, dtype=torch.float64, generator=generator)
        return moved(ids, (drawn.to(ids.device) * choices).long())
