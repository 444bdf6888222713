"""Addition: put out the sum of two numbers."""

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.sums import blind_chance, carried

ORDERS = {"reversed": (True, True), "answer_reversed": (False, True), "plain": (False, False)}
"""Whether the numbers, and whether the sum, are written with the least significant digit first."""


class Addition(Task):
    """Two numbers of n digits in, their sum in n + 1 digits out; length counts those of a number.

        prompt  6 1 1 + 8 4 0
        answer  4 6 1 0

    That is 116 + 048 = 0164. Order matters. Numbers are uniform over 0 ... base^n - 1 and filled up
    with zeros to n digits, so problems of fewer digits occur among them. `order` says what is
    written with the least significant digit first: `reversed` all three numbers, as in McLeish et
    al. 2024 (arXiv:2405.17399), who draw how many digits each number has and fill up nothing;
    `answer_reversed` the sum alone, as in Cho et al. 2024 (arXiv:2405.20671), who fill up the
    number that is drawn with fewer digits; `plain` none.
    """

    chance_error = 0.02

    def __init__(self, *, base: int = 10, order: str = "reversed") -> None:
        if not isinstance(base, int) or not 2 <= base <= 100:
            raise ConfigError(f"task.base={base}: must be a whole number from 2 to 100")
        self.base = base
        self.numbers_reversed, self.answer_reversed = ORDERS[
            check_choice("task.order", order, ORDERS)
        ]
        self.vocabulary = Vocabulary([*map(str, range(base)), "+"])
        self.plus = base

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        numbers = torch.randint(self.base, (n, 2, length), generator=generator)
        answer = carried(numbers.sum(dim=1), self.base)
        first, second = (numbers if self.numbers_reversed else numbers.flip(2)).unbind(dim=1)
        prompt = torch.cat([first, torch.full((n, 1), self.plus), second], dim=1)
        return self.marked(Sample(prompt, answer if self.answer_reversed else answer.flip(1)))

    def marked(self, sample: Sample) -> Sample:
        """Adds one row of each. Places count from 1 in either number and in the sum.

        Digits of weight base^t are coupled by the id 2 + t; `+` has 1. So has `?` before a reversed
        sum; before a plain one, whose ids fall, it has one more than the first of them.
        """
        place = torch.arange(1, sample.answer.shape[1] + 1)
        number, answer = place[:-1] + 1, place + 1
        if not self.numbers_reversed:
            number = number.flip(0)
        if not self.answer_reversed:
            answer = answer.flip(0)
        none, plus = place.new_zeros(1), place.new_ones(1)
        ask = plus if self.answer_reversed else answer[:1] + 1
        places = torch.cat([place[:-1], none, place[:-1], none, place])
        coupled = torch.cat([number, plus, number, ask, answer])
        return sample._replace(places=places[None], coordinates=coupled[None, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        length = len(prompt) // 2
        numbers = [prompt[:length], prompt[length + 1 :]]
        alike = len(numbers[0]) == len(numbers[1]) > 0
        if not alike or prompt[length] != self.plus or prompt.count(self.plus) > 1:
            raise ValueError("the prompt is not two numbers of equally many digits, joined by +")
        total = sum(
            digit * self.base**weight
            for number in numbers
            for weight, digit in enumerate(number if self.numbers_reversed else number[::-1])
        )
        answer = [total // self.base**weight % self.base for weight in range(length + 1)]
        return answer if self.answer_reversed else answer[::-1]

    def chance(self, length: int) -> Chance:
        """See `blind_chance`: exact for short numbers, an upper bound for longer ones."""
        return blind_chance(self.base, length)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Exchanges two digits that differ in value and in weight, which changes the sum.

        Where there are none every order has this sum, and the numbers change places.
        """
        weight = torch.arange(len(prompt)) % (len(prompt) // 2 + 1)
        digit = prompt != self.plus
        differ = (prompt[:, None] != prompt) & (weight[:, None] != weight)
        pairs = (differ & digit[:, None] & digit).nonzero()
        if len(pairs) == 0:
            return prompt.flip(0)
        pair = pairs[torch.randint(len(pairs), (), generator=generator)]
        exchanged = prompt.clone()
        exchanged[pair] = prompt[pair.flip(0)]
        return exchanged
