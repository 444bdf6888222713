"""Randomised positions: a sorted draw of distinct ids from a span longer than any sequence.

Training on short sequences then meets the ids, and the distances, of long ones. Ruoss et al., arXiv
2305.16843: ids from 0 to 2047, in training one draw for the whole batch. They redraw rotations and
relative biases in every layer; here one draw of token ids serves the whole network.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.positions.base import Positions, Slots, check_draws, index

DRAWN_AT_ONCE = 2**22
"""Random numbers, one for each id of the span: they bound memory and change no draw."""


class Random(Positions):
    """T distinct ids below `span`, in order, drawn in training for a batch, or `per_sample`.

    `at_eval` is `resample` (a draw of its own for every row; results are averaged over `draws`),
    `even` (the mean of all draws: T ids evenly spread over the span) or `index` (0 to T-1).

    Raises ConfigError for another policy, for `draws` that would all be alike, and for sequences
    longer than a span that they draw from.
    """

    def __init__(
        self,
        *,
        span: int = 2048,
        per_sample: bool = False,
        at_eval: str = "resample",
        draws: int = 1,
    ) -> None:
        if span < 1:
            raise ConfigError(f"positions.span={span}: must be at least 1")
        self.span = span
        self.at_eval = check_choice("positions.at_eval", at_eval, ("resample", "even", "index"))
        self.draws = check_draws(draws, at_eval)
        self.per_sample = per_sample

    def bound(self, slots: Slots) -> int:
        if slots.tokens > self.span:
            raise ConfigError(
                f"positions.span={self.span} has too few ids for a sequence of {slots.tokens} "
                f"tokens: set positions.span={slots.tokens} or more"
            )
        return self.span

    def bound_at_eval(self, slots: Slots) -> int:
        return slots.tokens if self.at_eval == "index" else self.bound(slots)

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self._draw(slots if self.per_sample else slots._replace(rows=1), generator)

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        if self.at_eval == "resample":
            return self._draw(slots, generator)
        if self.at_eval == "even":
            return (index(slots) + 1) * (self.bound(slots) + 1) // (slots.tokens + 1) - 1
        return index(slots)

    def _draw(self, slots: Slots, generator: torch.Generator) -> Tensor:
        span = self.bound(slots)
        alike = torch.ones(1, span).expand(slots.rows, span).split(max(1, DRAWN_AT_ONCE // span))
        drawn = [torch.multinomial(part, slots.tokens, generator=generator) for part in alike]
        return torch.cat(drawn).sort().values
