"""Shifted positions: a row counts from a random offset, so only differences of ids mean anything.

Kiyono et al. (SHAPE), arXiv 2109.05644, with offsets from 0 to 500.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.positions.base import Positions, Slots, index


class Shifted(Positions):
    """k, k+1, ... with k uniform from 0 to `max_offset`, drawn for every row.

    `at_eval` is `index` (k = 0) or `resample` (as in training).

    Raises ConfigError for another policy or a negative `max_offset`.
    """

    def __init__(self, *, max_offset: int = 500, at_eval: str = "index") -> None:
        if max_offset < 0:
            raise ConfigError(f"positions.max_offset={max_offset}: must be 0 or more")
        self.max_offset = max_offset
        self.at_eval = check_choice("positions.at_eval", at_eval, ("index", "resample"))

    def bound(self, slots: Slots) -> int:
        return slots.tokens + self.max_offset

    def bound_at_eval(self, slots: Slots) -> int:
        return slots.tokens if self.at_eval == "index" else self.bound(slots)

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        offsets = torch.randint(self.max_offset + 1, (slots.rows, 1), generator=generator)
        return offsets + index(slots)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        if self.at_eval == "resample":
            return self.train(slots, generator)
        return index(slots)
