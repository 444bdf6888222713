"""What sums, differences and products share: two numbers in, one out, and how they are written."""

from abc import abstractmethod
from copy import copy
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import pad

from posenc.errors import ConfigError, check_choice
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.arithmetic_chance import arithmetic_chance
from posenc.tasks.shared.notation import MARKERS, Notation
from posenc.tasks.shared.operands import Operands
from posenc.tasks.shared.strings import ended

ORDERS = {"reversed": (True, True), "answer_reversed": (False, True), "plain": (False, False)}
"""Whether the numbers and whether the answer have the least significant digit first."""
TRIES = 32
"""Other orders among which `reorder` looks for another answer."""


class Arithmetic(Task):
    """Two numbers joined by a sign in, a third number out; length counts the digits of the first.

    `order` says what is written with the least significant digit first: `reversed` all three
    numbers, `answer_reversed` the answer alone, `plain` none.

    `padded=True` draws a number of d digits uniformly from 0 ... base^d - 1 and fills it up with
    zeros, so that all answers to numbers of these sizes have as many digits. `padded=False` draws
    it without a leading zero; nor has the answer one, unless it is 0, and `end` follows it.

    `hints=True` puts a marker of its weight before every digit, in the answer too, where markers
    are scored like digits: Zhou et al. 2024 (arXiv:2402.09371). Markers follow each other from one
    that is drawn for each problem; after the last comes the first, so numbers of more than 102
    digits meet the same ones again.

    `second` is how many digits the second number has, null for as many as the first. With `any`
    one of the two has `length` digits and the other from 1 to as many. How many, and which of the
    two it is, is drawn once for all problems of a sample.
    """

    chance_error = 0.03
    sign: ClassVar[str]
    falling = False
    """Whether the second number is never larger than the first, nor has more digits."""

    def __init__(
        self,
        *,
        base: int = 10,
        order: str = "reversed",
        padded: bool = True,
        hints: bool = False,
        second: int | str | None = None,
    ) -> None:
        if not isinstance(base, int) or not 2 <= base <= 100:
            raise ConfigError(f"task.base={base}: must be a whole number from 2 to 100")
        for key, value in {"padded": padded, "hints": hints}.items():
            if value not in (True, False):
                raise ConfigError(f"task.{key}={value}: must be true or false")
        self.numbers_reversed, self.answer_reversed = ORDERS[
            check_choice("task.order", order, ORDERS)
        ]
        self.base = base
        self.padded = padded
        self.hints = hints
        names = [*map(str, range(base)), self.sign, *["end"] * (not padded)]
        self.join, self.end = base, base + 1
        self.notation = Notation(len(names) if hints else None)
        self.vocabulary = Vocabulary([*names, *(f"m{m}" for m in range(MARKERS * hints))])
        self._set_second(second)

    def _set_second(self, second: int | str | None) -> None:
        if second not in (None, "any") and not (type(second) is int and second >= 1):
            raise ConfigError(
                f"task.second={second}: must be a number of digits, at least 1, or any, or null"
            )
        self.second = second
        self.varied = second == "any"
        self.minimum = second if isinstance(second, int) and self.falling else 1

    def sized(self, second: int) -> Self:
        """The same task, except that its second number always has so many digits."""
        other = copy(self)
        other._set_second(second)
        return other

    @abstractmethod
    def width(self, first: int, second: int) -> int:
        """The most digits of an answer to numbers of so many digits."""

    @abstractmethod
    def answer(self, numbers: Tensor, width: int) -> Tensor:
        """(n,2,L) digits of numbers -> (n,width) of their answers, least significant first."""

    @abstractmethod
    def result(self, first: int, second: int) -> int:
        """The answer to two numbers, by Python's own arithmetic."""

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        shapes, device = self._shapes(length), generator.device
        shape = shapes[0]
        if self.varied:
            chosen = torch.randint(2 * len(shapes), (), generator=generator, device=device)
            shape = shapes[int(chosen) // 2]
            if chosen % 2 and not self.falling:
                shape = shape._replace(sizes=shape.sizes[::-1])
        numbers = shape.drawn(n, generator)
        start = torch.zeros(n, 1, dtype=torch.int64, device=device)
        if self.hints:
            start.random_(MARKERS, generator=generator)
        problems = self._posed(numbers, shape, start)
        return self.marked(problems._replace(scored=None) if self.padded else problems)

    def largest(self, length: int) -> Sample:
        task = self.sized(length) if self.varied else self
        return task.sample(1, length, torch.Generator())

    def _shapes(self, length: int) -> list[Operands]:
        """As likely each; where the sizes of numbers vary, the first is the larger one."""
        if self.varied:
            seconds = list(range(1, length + 1))
        else:
            seconds = [self.second if isinstance(self.second, int) else length]
        return [self._shape(length, size) for size in seconds]

    def _shape(self, first: int, second: int) -> Operands:
        return Operands(self.base, (first, second), self.padded, self.falling)

    def _posed(self, numbers: Tensor, shape: Operands, start: Tensor) -> Sample:
        """(n,2,L) digits, (n,1) the marker of the lowest digits -> the problems, without marks."""
        first, second = (
            self.notation.written(
                digits[:, :size], self.notation.weights(size, self.numbers_reversed), start
            )
            for digits, size in zip(numbers.unbind(dim=1), shape.sizes, strict=True)
        )
        prompt = torch.cat([first, torch.full_like(start, self.join), second], dim=1)
        return Sample(prompt, *self._answered(numbers, shape, start))

    def _answered(self, numbers: Tensor, shape: Operands, start: Tensor) -> tuple[Tensor, Tensor]:
        """-> answers, and what of them is scored."""
        width = self.width(*shape.sizes)
        digits = self.answer(numbers, width)
        weights = self.notation.weights(width, self.answer_reversed)
        if self.padded:
            written = self.notation.written(digits, weights, start)
            return written, torch.ones_like(written, dtype=torch.bool)
        place = torch.arange(width, device=digits.device)
        size = (digits.ne(0) * (place + 1)).amax(dim=1).clamp(min=1)
        if not self.answer_reversed:
            weights = (size[:, None] - 1 - place).clamp(min=0)
        written = pad(self.notation.written(digits, weights, start), (0, 1))
        return ended(written, size * self.notation.step, self.end)

    def marked(self, sample: Sample) -> Sample:
        """Adds one row of each. Places count from 1 in either number and in the answer.

        Digits of weight base^t are coupled by the id 2 + t; the sign has 1. So has `?` before a
        reversed answer; before a plain one, whose ids fall, it has one more than the first of them.
        Markers and the last place of an unpadded answer, which holds no digit, have 0.
        Nothing here tells how long an answer is: the ids of a plain one are those of the longest.
        """
        tokens = sample.prompt.shape[1]
        join = int((sample.prompt[0] == self.join).nonzero()[0])
        sizes = join // self.notation.step, (tokens - join - 1) // self.notation.step
        width = self.width(*sizes)
        sides = [(size, self.numbers_reversed) for size in sizes] + [(width, self.answer_reversed)]
        places = [self.notation.spread(torch.arange(1, size + 1)) for size, _ in sides]
        coupled = [self.notation.spread(2 + self.notation.weights(*side)) for side in sides]
        none, one = coupled[0].new_zeros(1), coupled[0].new_ones(1)
        ask = one if self.answer_reversed else one * (width + 2)
        last = none[: sample.answer.shape[1] - width * self.notation.step]
        place = torch.cat([places[0], none, places[1], none, places[2], last])
        ids = torch.cat([coupled[0], one, coupled[1], ask, coupled[2], last])
        device = sample.prompt.device
        return sample._replace(
            places=place[None].to(device), coordinates=ids[None, :, None].to(device)
        )

    def solve(self, prompt: list[int]) -> list[int]:
        first, second, start = self._read(prompt)
        value = self.result(*(self._value(digits) for digits in (first, second)))
        places = range(self.width(len(first), len(second)))
        digits = [value // self.base**weight % self.base for weight in places]
        if self.padded:
            return self.notation.spelled(digits, start, self.answer_reversed)
        while len(digits) > 1 and digits[-1] == 0:
            digits.pop()
        return [*self.notation.spelled(digits, start, self.answer_reversed), self.end]

    def room(self, prompt: list[int]) -> int:
        first, second, _ = self._read(prompt)
        return self.width(len(first), len(second)) * self.notation.step + (not self.padded)

    def _read(self, prompt: list[int]) -> tuple[list[int], list[int], int]:
        """-> digits of both numbers, least significant first, and the marker of the lowest.

        Raises ValueError for a prompt that is none of this task.
        """
        join = prompt.index(self.join) if self.join in prompt else 0
        notation, turned = self.notation, self.numbers_reversed
        sides = [notation.read(side, turned) for side in (prompt[:join], prompt[join + 1 :])]
        (first, start), (second, _) = sides
        spelled = [notation.spelled(digits, start, turned) for digits in (first, second)]
        size = self.second if isinstance(self.second, int) else len(first)
        if (
            not first
            or not second
            or max(first + second) >= self.base
            or not (self.varied or len(second) == size)
            or not (self.padded or (first[-1] and second[-1]))
            or [*spelled[0], self.join, *spelled[1]] != prompt
            or (self.falling and len(first) < len(second))
            or (self.falling and self._value(first) < self._value(second))
        ):
            raise ValueError(f"the prompt is not two numbers of this task, joined by {self.sign}")
        return first, second, start

    def _value(self, digits: list[int]) -> int:
        return sum(digit * self.base**weight for weight, digit in enumerate(digits))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Deals the digits anew, so that the answer changes, wherever a few tries find such a deal.

        Markers and the sign stay where they are.
        """
        first, second, start = self._read(prompt.tolist())
        shape = self._shape(len(first), len(second))
        filled = [digits + [0] * (max(shape.sizes) - len(digits)) for digits in (first, second)]
        numbers = torch.tensor([filled], device=prompt.device)
        bags = shape.bags(numbers).expand(TRIES, -1)
        dealt = shape.dealt(bags, generator)
        starts = numbers.new_full((TRIES + 1, 1), start)
        posed = self._posed(torch.cat([dealt, numbers]), shape, starts)
        moved, changed = ((field != field[-1]).any(dim=1) for field in posed[:2])
        return posed.prompt[(moved.long() + changed).argmax()]

    def chance(self, length: int) -> Chance:
        """Exact where few problems have this length, else estimated from some of them.

        Markers are as good as known. See `arithmetic_chance`.
        """
        start = torch.zeros(1, 1, dtype=torch.int64)
        return arithmetic_chance(
            self._shapes(length),
            lambda numbers, shape: self._posed(numbers, shape, start.expand(len(numbers), 1)),
        )
