"""Solve equation: find the hidden digit of a bracketed sum, whose value is known modulo 5."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.expressions import (
    DRAWN,
    MINUS,
    MODULUS,
    PLUS,
    TIMES,
    bag_gain,
    drawn,
    every,
    kinds,
    value_of,
)
from posenc.tasks.shared.strings import shuffled
from posenc.tasks.shared.tried import tried_chance

OPERATORS = (PLUS, MINUS)
X, EQUALS = TIMES, TIMES + 1
"""The symbol for products stands for the hidden digit here, as there are none."""
TRIED, FLAT = 12, 61
"""The longest prompts that are all tried; those from which on a bag tells next to nothing."""


class SolveEquation(Task):
    """An equation with an unknown digit in, the digit out; length counts the tokens of the prompt.

        prompt  ( ( - 1 ) - ( x + 3 ) ) = 4
        answer  2

    Order matters. Left of `=` is an expression as in `modular_arithmetic_brackets` without
    products, one of whose digits is replaced by `x`; right of it is the value modulo 5. To choose
    the digit, a place is drawn uniformly and moved on to the first digit at or after it, from the
    end back to the start: so digits that follow many other symbols are hidden more often. There is
    always one solution: Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023
    (arXiv:2305.16843). Their example has products, but their code none. It also has prompts of 1
    or 2 zeros, which hold no equation: here the shortest one is `x = d`, of 3 tokens.
    """

    vocabulary = Vocabulary("01234+-()x=")
    minimum = 3
    chance_error = 0.04

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where the shortest equation is longer."""
        if length < self.minimum:
            raise ConfigError(
                f"length {length}: an equation of solve_equation has 3 tokens or more"
            )
        tokens, brackets = drawn(n, length - 2, OPERATORS, generator)
        start = torch.randint(length - 2, (n, 1), generator=generator, device=generator.device)
        return _hidden(tokens, brackets.values(tokens), start)

    def solve(self, prompt: list[int]) -> list[int]:
        text = self.vocabulary.decode(prompt)
        left, _, right = text.partition(" = ")
        if left.count("x") != 1 or right not in tuple("01234"):
            raise ValueError("the prompt is not an equation for one x")
        return [d for d in range(MODULUS) if value_of(left.replace("x", str(d))) == int(right)]

    def chance(self, length: int) -> Chance:
        """Exact up to 12 tokens, where all prompts are tried.

        Up to 60 tokens it is estimated by `bag_gain`; of longer ones a bag tells next to nothing:
        a guess that had met 500 prompts of a bag was right in .202 of the cases at 60 tokens.
        """
        if length <= TRIED:
            places = length - 2
            tokens, values, likely = (
                part.repeat_interleave(places, dim=0) for part in every(places, OPERATORS)
            )
            start = torch.arange(len(tokens))[:, None] % places
            return tried_chance(_hidden(tokens, values, start), likely)
        score = 1 / MODULUS
        if length < FLAT:
            score += self._bag_gain(length)
        return Chance(score, score)

    def _bag_gain(self, length: int) -> float:
        generator = torch.Generator().manual_seed(0)
        tokens, brackets = drawn(DRAWN // length, length - 2, OPERATORS, generator)
        start = torch.randint(length - 2, (len(tokens), 1), generator=generator)
        prompts = _hidden(tokens, brackets.values(tokens), start).prompt

        def answers(prompts: Tensor) -> Tensor:
            left, right = prompts[:, :-2], prompts[:, -1]
            with_0, with_1 = (brackets.values(left.where(left != X, digit)) for digit in (0, 1))
            return (right - with_0) * (with_1 - with_0) % MODULUS  # the factor is 1 or -1

        return bag_gain(prompts, _kinds(prompts), answers, generator)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Shuffles the digits on both sides, and the operators, among themselves; `x` stays."""
        return shuffled(prompt[None], _kinds(prompt[None]), generator)[0]


def _hidden(tokens: Tensor, values: Tensor, start: Tensor) -> Sample:
    """(n,P) expressions, (n,) values, (n,1) where to begin looking for a digit -> equations."""
    length = tokens.shape[1]
    distance = (torch.arange(length, device=tokens.device) - start) % length
    digit = distance.where(tokens < MODULUS, length).argmin(dim=1, keepdim=True)
    left, equals = tokens.scatter(1, digit, X), torch.full_like(start, EQUALS)
    return Sample(torch.cat([left, equals, values[:, None]], dim=1), tokens.gather(1, digit))


def _kinds(prompts: Tensor) -> Tensor:
    """As those of expressions, where `x` is a kind of its own."""
    place = torch.arange(prompts.shape[1], device=prompts.device)
    return kinds(prompts.where(prompts != X, 0)).where(prompts != X, 2 + place)
