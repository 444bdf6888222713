"""Position coupling: the task gives one id to all tokens that belong together.

In an addition, digits of equal weight in both numbers and in the sum are such tokens. Cho et al.,
arXiv 2405.20671; and several ids a token, one for each part of a combined encoding, arXiv
2410.15787. In training a batch counts from a random start, so that the ids of longer problems are
trained, too; 0 stays with what belongs to nothing.
"""

from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Slots
from posenc.positions.marked import Marked


class Coupled(Marked):
    """Column `coordinate` of the task's own ids, in training plus an offset up to `max_offset`.

    Raises ConfigError for a negative setting, and for a task without such a column.
    """

    def __init__(self, *, coordinate: int = 0, max_offset: int = 99) -> None:
        super().__init__(max_offset=max_offset)
        if coordinate < 0:
            raise ConfigError(f"positions.coordinate={coordinate}: must be 0 or more")
        self.coordinate = coordinate

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
