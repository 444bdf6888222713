"""Modular arithmetic with brackets: the value of an expression, modulo 5."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.expressions import (
    DRAWN,
    LEAF,
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

TRIED = 12
"""The longest prompts that are all tried."""


class ModularArithmeticBrackets(Task):
    """A bracketed expression in, its value modulo 5 out; length counts the tokens of the prompt.

        prompt  ( ( - 1 ) - ( 2 * 3 ) )
        answer  3

    Order matters. An expression of 5 or more tokens is `( L op R )`, with an L of 1 to n - 4
    tokens, each as likely; shorter ones are `d`, `- d`, `( d )` and `( - d )`. Digits from 0 to 4
    and operators + - * are uniform. The answer is 0 more often than 1, 2, 3 or 4, which are equally
    frequent: "Modular Arithmetic" of Delétang et al. 2022 (arXiv:2207.02098),
    modular_arithmetic_brackets in the code of Ruoss et al. 2023 (arXiv:2305.16843). Their
    experiments have products, the default of their code has none: `products=False`.
    """

    chance_error = 0.04

    def __init__(self, *, products: bool = True) -> None:
        if products not in (True, False):
            raise ConfigError(f"task.products={products}: must be true or false")
        self.vocabulary = Vocabulary("01234+-()*" if products else "01234+-()")
        self.operators = (PLUS, MINUS, TIMES) if products else (PLUS, MINUS)
        self.flat = 31 if products else 61
        """The shortest prompts whose bag tells next to nothing."""

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt, brackets = drawn(n, length, self.operators, generator)
        return Sample(prompt, brackets.values(prompt)[:, None])

    def solve(self, prompt: list[int]) -> list[int]:
        return [value_of(self.vocabulary.decode(prompt))]

    def chance(self, length: int) -> Chance:
        """Exact up to 12 tokens, where all prompts are tried.

        Up to 30 tokens, or 60 without products, it is estimated by `bag_gain`. Of longer ones a
        guess that always is 0 is hardly worse: at 35 and 40 tokens, one that had met 500 prompts of
        a bag scored .289 and .293, and the other .291 and .292.
        """
        if length <= TRIED:
            prompts, values, likely = every(length, self.operators)
            return tried_chance(Sample(prompts, values[:, None]), likely)
        score = self._zero(length)
        if length < self.flat:
            generator = torch.Generator().manual_seed(0)
            prompts, brackets = drawn(DRAWN // length, length, self.operators, generator)
            score += bag_gain(prompts, kinds(prompts), brackets.values, generator)
        return Chance(score, score)

    def _zero(self, length: int) -> float:
        """How likely the answer 0 is; the four others share the rest, at every length.

        With likelihoods p and q of a 0 in L and in R, p q + (1 - p)(1 - q) / 4 is that of a sum or
        a difference, and 1 - (1 - p)(1 - q) that of a product.
        """
        zero = torch.full((length,), 1 / MODULUS, dtype=torch.float64)
        for tokens in range(LEAF + 1, length + 1):
            left = zero[: tokens - LEAF]
            right = left.flip(0)
            both, none = left * right, (1 - left) * (1 - right)
            chances = {PLUS: both + none / 4, MINUS: both + none / 4, TIMES: 1 - none}
            likely = torch.stack([chances[operator] for operator in self.operators])
            zero[tokens - 1] = likely.mean()
        return zero[-1].item()

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Shuffles the digits, and the operators, among themselves."""
        return shuffled(prompt[None], kinds(prompt[None]), generator)[0]
