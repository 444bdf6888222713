"""The contract of a source of positions: which id each token gets.

Ids are drawn before the network runs and handed to it, so a network never draws at random.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from posenc.errors import ConfigError


class Slots(NamedTuple):
    """What a source may know of the sequences that it gives ids to: never their content."""

    rows: int
    tokens: int
    places: Tensor | None = None
    """(1 or rows, tokens) int64: of a digit its place in its number, from 1; of other tokens 0."""
    coordinates: Tensor | None = None
    """(1 or rows, tokens, C) int64: ids by which the task itself couples tokens."""


class Positions(ABC):
    """A source of ids for training and for evaluation."""

    draws = 1
    """How many independent draws of the ids an evaluation averages over."""

    real = False
    """Whether ids are real numbers."""

    @property
    def sources(self) -> "tuple[Positions, ...]":
        """The source itself, or those that it is made of."""
        return (self,)

    @abstractmethod
    def bound(self, slots: Slots) -> int:
        """One more than the largest id that `train` can give these slots.

        Raises ConfigError where they lack what the source needs to know of them.
        """

    def bound_at_eval(self, slots: Slots) -> int:
        """The same of `evaluate`."""
        return self.bound(slots)

    @abstractmethod
    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        """(1 or rows, tokens) ids for a training batch."""

    @abstractmethod
    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        """(1 or rows, tokens) ids for an evaluation; one row where all rows are alike."""


def index(slots: Slots) -> Tensor:
    """(1, tokens): 0, 1, 2, ..."""
    return torch.arange(slots.tokens)[None]


def check_draws(draws: int, at_eval: str) -> int:
    """Returns `draws`; raises ConfigError unless each of them is another."""
    if draws < 1:
        raise ConfigError(f"positions.draws={draws}: must be at least 1")
    if draws > 1 and at_eval != "resample":
        raise ConfigError(
            f"positions.draws={draws}: every draw is alike with positions.at_eval={at_eval}, "
            "use positions.draws=1 or positions.at_eval=resample"
        )
    return draws
