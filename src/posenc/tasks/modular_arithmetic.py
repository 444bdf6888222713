"""Modular arithmetic: a sum of products, modulo 5."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.blind import learned_chance
from posenc.tasks.shared.strings import shuffled
from posenc.tasks.shared.tried import tried_chance

MODULUS = 5
PLUS, MINUS, TIMES = OPERATORS = range(MODULUS, MODULUS + 3)
POWERS = torch.tensor([1, 2, 4, 3])
"""Of 2: all numbers but 0, modulo 5."""
LOG_OF_ZERO = 2**40
LOGS = torch.tensor([LOG_OF_ZERO, 0, 1, 3, 2])
"""To the base 2, of all numbers modulo 5; a product is 0 where its logarithm is that large."""
LOG_OF_MINUS_ONE = 2
TRIED, FLAT = 7, 31
"""The longest prompts that are all tried; those from which on no guess beats 1 in 5."""


class ModularArithmetic(Task):
    """Digits joined by + - * in, the value modulo 5 out; length counts digits and operators.

        prompt  1 - 2 * 3
        answer  0

    Order matters. Products come first, then sums and differences from left to right: the example is
    1 - 6 = -5. A prompt begins and ends with a digit, so lengths are odd. Digits from 0 to 4 and
    operators are independent and uniform: "Modular Arithmetic (Simple)" of Delétang et al. 2022
    (arXiv:2207.02098), modular_arithmetic in the code of Ruoss et al. 2023 (arXiv:2305.16843).
    There, an even length gives prompts of one token less, and long products of digits overflow.
    """

    vocabulary = Vocabulary("01234+-*")
    chance_error = 0.03

    def lengths(self, low: int, high: int) -> list[int]:
        return [length for length in super().lengths(low, high) if length % 2]

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for an even length."""
        if length % 2 == 0:
            raise ConfigError(f"length {length}: prompts of modular_arithmetic have odd lengths")
        device = generator.device
        prompt = torch.randint(MODULUS, (n, length), generator=generator, device=device)
        prompt[:, 1::2].random_(PLUS, TIMES + 1, generator=generator)
        return Sample(prompt, _value(prompt))

    def solve(self, prompt: list[int]) -> list[int]:
        text = self.vocabulary.decode(prompt).split()
        alternate = all(token.isdigit() == (place % 2 == 0) for place, token in enumerate(text))
        if len(text) % 2 == 0 or not alternate:
            raise ValueError("the prompt is not digits joined by operators")
        total, product, sign = 0, int(text[0]), 1
        for operator, digit in zip(text[1::2], text[2::2], strict=True):
            if operator == "*":
                product *= int(digit)
            else:
                total += sign * product
                product, sign = int(digit), 1 if operator == "+" else -1
        return [(total + sign * product) % MODULUS]

    def chance(self, length: int) -> Chance:
        """Exact up to 7 tokens, where all prompts are tried; beyond, estimated.

        Up to 29 tokens a guesser learns from other orders of the same digits and operators. Of
        longer prompts even 1,500 orders taught it nothing: it was right in .200 of the cases.
        """
        if length >= FLAT:
            return Chance(1 / MODULUS, 1 / MODULUS)
        if length <= TRIED:
            places = [torch.arange(MODULUS), torch.tensor(OPERATORS)] * length
            prompts = torch.cartesian_prod(*places[:length]).view(-1, length)
            return tried_chance(Sample(prompts, _value(prompts)))
        generator = torch.Generator().manual_seed(0)
        bags, orders = 3_500 // length, 160
        prompts = self.sample(bags, length, generator).prompt.repeat_interleave(orders, dim=0)
        prompts = shuffled(prompts, torch.arange(length)[None] % 2, generator)
        learned = learned_chance(_value(prompts).view(bags, orders, 1)).token
        return Chance(*[max(learned, 1 / MODULUS)] * 2)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Shuffles the digits, and the operators, among themselves."""
        place = torch.arange(len(prompt), device=prompt.device)
        return shuffled(prompt[None], place[None] % 2, generator)[0]


def _value(prompts: Tensor) -> Tensor:
    """(n,P) -> (n,1): adds up the products, each of which is found by adding up logarithms."""
    digits, operators = prompts[:, ::2], prompts[:, 1::2]
    minus = LOG_OF_MINUS_ONE * (operators == MINUS)
    begins = torch.nn.functional.pad(operators != TIMES, (1, 0), value=True)
    ends = begins.roll(-1, dims=1)  # before each beginning, and last, as every first one begins
    logs = LOGS.to(prompts.device)[digits]
    logs[:, 1:] += minus
    place = torch.arange(digits.shape[1], device=prompts.device)
    first = (begins * place).cummax(dim=1).values
    up_to = logs.cumsum(dim=1)
    log = up_to - (up_to - logs).gather(1, first)
    products = POWERS.to(prompts.device)[log % len(POWERS)] * (log < LOG_OF_ZERO)
    return (products * ends).sum(dim=1, keepdim=True) % MODULUS
