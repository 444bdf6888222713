"""The contract of a source of positions: which id each token gets.

Ids are drawn before the network runs and handed to it, so a network never draws at random.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from posenc.errors import ConfigError, one_of


class Positions(ABC):
    """A source of ids for training and for evaluation."""

    draws = 1
    """How many independent draws of the ids an evaluation averages over."""

    @abstractmethod
    def bound(self, length: int) -> int:
        """One more than the largest id that `train` can give a sequence of `length` tokens."""

    def bound_at_eval(self, length: int) -> int:
        """The same of `evaluate`."""
        return self.bound(length)

    @abstractmethod
    def train(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        """(1 or rows, length) int64 ids for a training batch."""

    @abstractmethod
    def evaluate(self, rows: int, length: int, generator: torch.Generator) -> Tensor:
        """(1 or rows, length) int64 ids for an evaluation; one row where all rows are alike."""


def index(length: int) -> Tensor:
    """(1, length): 0, 1, 2, ..."""
    return torch.arange(length)[None]


def check_choice(key: str, value: str, choices: tuple[str, ...]) -> str:
    """Returns `value`; raises ConfigError, naming the choices, if it is none of them."""
    if value not in choices:
        raise ConfigError(f"{key}={value}: {one_of(choices)}")
    return value
