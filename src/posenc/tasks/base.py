"""The contract of a task: sequences to answer, and all that is needed to trust the answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from posenc.errors import ConfigError


class Vocabulary:
    """The symbols of a task by name; a symbol's token is its place in the list."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)
        self._tokens = {symbol: token for token, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def encode(self, text: str) -> list[int]:
        """Tokens of symbols separated by spaces. Raises ConfigError for a symbol it lacks."""
        for symbol in text.split():
            if symbol not in self._tokens:
                raise ConfigError(f"'{symbol}' is no symbol of this task: {' '.join(self.symbols)}")
        return [self._tokens[symbol] for symbol in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        """The symbols of these tokens, separated by spaces."""
        return " ".join(self.symbols[token] for token in tokens)


class Sample(NamedTuple):
    """Problems of one length: every row has P prompt tokens and A answer tokens."""

    prompt: Tensor
    """(n,P) int64."""
    answer: Tensor
    """(n,A) int64; 0 where it is not scored."""
    scored: Tensor | None = None
    """(n,A) bool, the answer tokens that count in loss and metrics; None where all do."""
    places: Tensor | None = None
    """(1 or n, P+1+A) int64, None where the task has no numbers: of every digit its place in its
    number, counted from 1 in reading order, and 0 for other tokens. The prompt, `?`, the answer."""
    coordinates: Tensor | None = None
    """(1 or n, P+1+A, C) int64, None where the task has none: ids by which it couples tokens that
    belong together, 0 for those that belong to nothing. The prompt, `?`, the answer."""
    in_place: bool = False
    """Whether answer token i is asked for at prompt token i, so that nothing follows the prompt.
    Then A = P, and the two fields above have P columns."""
    judged: Tensor | None = None
    """(n,A) bool, those of the scored tokens that metrics look at, where others are a matter of
    luck; None where they look at all."""

    def rows(self, part: slice | Tensor) -> "Sample":
        """Some of the problems."""
        rows = len(self.prompt)
        return self._each(lambda field: field[part] if len(field) == rows else field)

    def to(self, device: torch.device) -> "Sample":
        """The problems on a device."""
        return self._each(lambda field: field.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Sample":
        def changed(field: Tensor | None) -> Tensor | None:
            return None if field is None else change(field)

        return Sample(
            change(self.prompt),
            change(self.answer),
            changed(self.scored),
            changed(self.places),
            changed(self.coordinates),
            self.in_place,
            changed(self.judged),
        )


class Chance(NamedTuple):
    """What the best order-blind guess scores: it knows the bag of prompt tokens, not their order.

    For a task whose answer depends on the bag alone, the guess knows the length only.
    """

    exact: float
    """Expected exact match of the guess that is best at exact match."""
    token: float
    """Expected token accuracy of the guess that is best at token accuracy."""


class Task(ABC):
    """A family of problems, one for each length.

    A subclass's docstring says what length counts, shows one aligned example, names the source and
    says whether order matters.
    """

    vocabulary: Vocabulary
    minimum = 1
    """The smallest length at which the task is defined."""
    order_matters = True
    """False where the answer depends on the bag of prompt tokens alone: the task is a control."""
    causal_only = False
    """Whether a network that looks ahead would see the answers in the prompt."""
    chance_error = 0.0
    """How far `chance` may be off where it is estimated, or how loose where it is a bound."""
    varied = False
    """Whether problems of one length differ in shape from one `sample` to the next."""

    @abstractmethod
    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """n random problems of one length and shape, drawn without a loop over rows."""

    @abstractmethod
    def solve(self, prompt: list[int]) -> list[int]:
        """The scored answer tokens, computed slowly from the definition, independently of `sample`.

        Raises ValueError for a prompt that is none of this task. It is never given an empty one.
        """

    @abstractmethod
    def chance(self, length: int) -> Chance:
        """The score at this length of the best guess that is blind to order."""

    @abstractmethod
    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """(P,) -> (P,): a well-formed prompt of the same tokens in another order."""

    def marked(self, sample: Sample) -> Sample:
        """The sample with its `places`, `coordinates` and `judged`, which follow from the rest."""
        return sample

    def asked(self, prompt: Tensor) -> Tensor | None:
        """(n,P) -> (n,P) bool: the prompt tokens at which a task that answers in place is asked.

        None where answers follow the prompt.
        """
        return None

    def room(self, prompt: list[int]) -> int:
        """Answer places that follow a prompt: as many as its solution has, or more."""
        return len(self.solve(prompt))

    def lengths(self, low: int, high: int) -> list[int]:
        """The legal lengths from `low` to `high`, both included."""
        return list(range(max(low, self.minimum), high + 1))

    def largest(self, length: int) -> Sample:
        """One problem of this length, of the shape that has the most tokens."""
        return self.sample(1, length, torch.Generator())

    def unseen(self, trained: Collection[int]) -> "Task":
        """What a network is tested on that was trained at these lengths: the task itself, unless
        it holds problems out."""
        return self

    def sized(self, second: int) -> "Task":
        """The task with a second size of its problems fixed, as the digits of a second number.

        Raises ConfigError where they have none.
        """
        raise ConfigError(f"eval.second=[{second}]: problems of this task have one size; set null")

    def floor(self, place: int) -> float | None:
        """Bits that the best predictor needs, on average, for the answer at prompt token `place`.

        None where prompts settle their answers.
        """
        return None

    def pose(self, prompt: list[int]) -> Sample:
        """The problem that has this prompt, as `sample` would give it.

        Raises ValueError for a prompt that is none of this task, as an empty one is.
        """
        if not prompt:
            raise ValueError("the prompt is empty")
        asked, solution = torch.tensor([prompt]), torch.tensor(self.solve(prompt))
        where = self.asked(asked)
        in_place = where is not None
        if where is None:
            where = torch.arange(self.room(prompt))[None] < len(solution)
        answer = where.long().masked_scatter(where, solution)
        return self.marked(Sample(asked, answer, scored=where, in_place=in_place))
