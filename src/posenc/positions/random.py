"""Randomised positions: a sorted draw of distinct ids from a span longer than any sequence.

Training on short sequences then meets the ids, and the distances, of long ones. Ruoss et al., arXiv
2305.16843: ids from 0 to 2047, one draw for the whole batch in training. They redraw rotations and
relative biases in every layer; here one draw of token ids serves the whole network.
"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.positions.base import Positions, check_choice, index

DRAWN_AT_ONCE = 2**22
"""Random numbers, one for each id of the span: they bound memory and change no draw."""


class Random(Positions):
    """T distinct ids below `span`, in order.

    `at_eval` is `resample` (a draw of its own for every row; results are averaged over `draws`),
    `even` (the mean of all draws: T ids evenly spread over the span) or `index` (0 to T-1).

    Raises ConfigError for another policy, for `draws` that would all be alike, and for sequences
    longer than a span that they draw from.
    """

    def __init__(self, *, span: int = 2048, at_eval: str = "resample", draws: int = 1) -> None:
        if span < 1:
            raise ConfigError(f"positions.span={span}: must be at least 1")
        if draws < 1:
            raise ConfigError(f"positions.draws={draws}: must be at least 1")
        if draws > 1 and at_eval != "resample":
            raise ConfigError(
                f"positions.draws={draws}: every draw is alike with positions.at_eval={at_eval}, "
                "use positions.draws=1 or positions.at_eval=resample"
            )
        self.span = span
        self.at_eval = check_choice("positions.at_eval", at_eval, ("resample", "even", "index"))
        self.draws = draws

    def bound(self, length: int) -> int:
        if length > self.span:
            raise ConfigError(
                f"positions.span={self.span} has too few ids for a sequence of {length} tokens: "
                f"set positions.span={length} or more"
            )
        return self.span

    def bound_at_eval(self, length: int) -> int:
        return length if self.at_eval == "index" else self.bound(length)

    def train(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        return self._draw(1, length, generator)

    def evaluate(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        if self.at_eval == "resample":
            return self._draw(rows, length, generator)
        if self.at_eval == "even":
            return (index(length) + 1) * (self.bound(length) + 1) // (length + 1) - 1
        return index(length)

    def _draw(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        span = self.bound(length)
        alike = torch.ones(1, span).expand(rows, span).split(max(1, DRAWN_AT_ONCE // span))
        drawn = [torch.multinomial(part, length, generator=generator) for part in alike]
        return torch.cat(drawn).sort().values
