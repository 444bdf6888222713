"""Random float sampling: sorted real ids, drawn from a range longer than any sequence.

As randomised positions, but continuous: no id in the range is ever one that training cannot meet.
Shimizu et al., arXiv 2602.14050, who draw in training and in evaluation. Encodings that look ids up
in a table cannot use them.
"""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.positions.base import Positions, Slots, check_draws, index


class RandomFloat(Positions):
    """T numbers uniform from 0 to `span`, in order, drawn for every row.

    `at_eval` is `resample` (as in training; results are averaged over `draws`), `even` (their mean:
    (i + 1) * span / (T + 1) for the i-th token) or `index` (0 to T-1).

    Raises ConfigError for another policy, and for `draws` that would all be alike.
    """

    real = True

    def __init__(self, *, span: float = 2048.0, at_eval: str = "resample", draws: int = 1) -> None:
        if not 0 < span < math.inf:
            raise ConfigError(f"positions.span={span}: must be above 0, and finite")
        self.span = span
        self.at_eval = check_choice("positions.at_eval", at_eval, ("resample", "even", "index"))
        self.draws = check_draws(draws, at_eval)

    def bound(self, slots: Slots) -> int:
        return math.ceil(self.span)

    def bound_at_eval(self, slots: Slots) -> int:
        return slots.tokens if self.at_eval == "index" else self.bound(slots)

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        ids = torch.rand(slots.rows, slots.tokens, generator=generator, dtype=torch.float64)
        return ids.sort().values * self.span

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        if self.at_eval == "resample":
            return self.train(slots, generator)
        if self.at_eval == "even":
            return (index(slots).double() + 1) * self.span / (slots.tokens + 1)
        return index(slots).double()
