"""Several sources side by side, for encodings whose parts count positions each in its own way."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from posenc.positions.base import Positions, Slots


class Several(Positions):
    """One source for each part of an encoding.

    A source that stands for several parts, as that of the whole run may, draws once for all of
    them; two sources of one kind draw each for itself. Ids have one more axis, (1 or rows, tokens,
    parts). Among real ids whole ones are real, too.
    """

    def __init__(self, sources: Sequence[Positions]) -> None:
        self._sources = tuple(sources)
        self.draws = max(source.draws for source in sources)

    @property
    def sources(self) -> tuple[Positions, ...]:
        return self._sources

    def bound(self, slots: Slots) -> int:
        return max(source.bound(slots) for source in self.sources)

    def bound_at_eval(self, slots: Slots) -> int:
        return max(source.bound_at_eval(slots) for source in self.sources)

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self._side_by_side(lambda source: source.train(slots, generator))

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return self._side_by_side(lambda source: source.evaluate(slots, generator))

    def _side_by_side(self, draw: Callable[[Positions], Tensor]) -> Tensor:
        drawn = {source: draw(source) for source in dict.fromkeys(self.sources)}
        return torch.stack(torch.broadcast_tensors(*(drawn[s] for s in self.sources)), dim=-1)
