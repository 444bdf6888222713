"""Summation: put out the sum of digits modulo 10."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.scratchpad import WORDS, check_scratchpad, deals, steps_chance, written
from posenc.tasks.shared.strings import arrangement_chance, rearrange

MODULUS = 10


class Summation(Task):
    """n digits in, the last digit of their sum out; length counts the terms.

        prompt  7 + 8 + 1
        answer  6

    Order does not matter. Terms are uniform over 1 ... 9: Kazemnejad et al. 2023
    (arXiv:2305.19466), who train on up to 8 terms and test on up to 16.

    `scratchpad=true` puts out all steps before the answer, from the first term to the last, with
    the sum so far as running value, in the one of many formats of that paper that has all parts:

        in 7 comp 7 + 0 out 7 [ 7 -> 7 ] re 8 1 #
        in 8 comp 8 + 7 out 15 [ 15 -> 5 ] re 1 #
        in 1 comp 1 + 5 out 6 [ 6 -> 6 ] re answer 6

    Numbers up to 18 are one token each, so all problems of a length have as many: with n terms
    15n + n(n - 1)/2 + 1, 491 for 20 and 6451 for 100. Exact match and token accuracy count the
    steps and the answer; and the order of the terms matters, as it is that of the steps.
    """

    order_matters = False

    def __init__(self, *, scratchpad: bool = False) -> None:
        self.scratchpad = check_scratchpad(scratchpad)
        self.order_matters = scratchpad
        self.chance_error = 0.03 if scratchpad else 0.0
        self.plus = 2 * MODULUS - 1 if scratchpad else MODULUS
        words = WORDS if scratchpad else ()
        self.vocabulary = Vocabulary([*map(str, range(self.plus)), "+", *words])

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        device = generator.device
        terms = torch.randint(1, MODULUS, (n, length), generator=generator, device=device)
        prompt = terms.new_full((n, 2 * length - 1), self.plus)
        prompt[:, ::2] = terms
        total = terms.sum(dim=1, keepdim=True) % MODULUS
        return Sample(prompt, self._steps(terms, total) if self.scratchpad else total)

    def _steps(self, terms: Tensor, total: Tensor) -> Tensor:
        """(n,T) terms, (n,1) the answer -> all tokens."""
        into, comp, out, opens, becomes, closes, rest, separator, answer = range(
            self.plus + 1, len(self.vocabulary)
        )
        term, _, before, value, _, after = _columns(terms)
        place = torch.arange(terms.shape[1], device=terms.device)
        columns: list[Tensor | int] = [into, term, comp, term, self.plus, before, out, value]
        columns += [opens, value, becomes, after, closes, rest]
        steps = written(
            columns,
            terms[:, None].expand(-1, len(place), -1),
            place > place[:, None],
            separator=separator,
        )
        return torch.cat([steps, torch.full_like(total, answer), total], dim=1)

    def solve(self, prompt: list[int]) -> list[int]:
        terms, joints = prompt[::2], prompt[1::2]
        well_joined = len(terms) == len(joints) + 1 and set(joints) <= {self.plus}
        if not well_joined or not all(0 < term < MODULUS for term in terms):
            raise ValueError("the prompt is not digits from 1 to 9, joined by +")
        words: list[object] = []
        total = 0
        for step, term in enumerate(terms, start=1):
            value = term + total
            words += ["in", term, "comp", term, "+", total, "out", value]
            words += ["[", value, "->", value % MODULUS, "]", "re", *terms[step:], "#"]
            total = value % MODULUS
        if not self.scratchpad:
            return [total]
        return self.vocabulary.encode(" ".join(map(str, [*words[:-1], "answer", total])))

    def chance(self, length: int) -> Chance:
        """Without steps, the likeliest sum: 0 has 1/10 + 9/10 (-1/9)^n, others 1/10 - (-1/9)^n/10.

        Steps tell the order of the terms, whose chance is that of `arrangement_chance`; that of
        tokens is estimated: see `steps_chance`.
        """
        if not self.scratchpad:
            bend = (-1 / 9) ** length / MODULUS
            likeliest = 1 / MODULUS + max(9 * bend, -bend)
            return Chance(likeliest, likeliest)
        bags, each = deals(6 * length)
        stream = torch.Generator().manual_seed(length)
        terms = torch.randint(1, MODULUS, (bags, 1, length), generator=stream)
        order = torch.rand(bags, each, length, generator=stream).argsort(dim=2)
        dealt = terms.expand_as(order).gather(2, order).flatten(0, 1)
        columns = torch.stack(_columns(dealt), dim=2).view(bags, each, length, -1)
        exact = arrangement_chance(length, MODULUS - 1).exact
        return Chance(exact, steps_chance(columns, 1, fixed=8).token)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        reordered = prompt.clone()
        reordered[::2] = rearrange(prompt[::2], generator)
        return reordered


def _columns(terms: Tensor) -> list[Tensor]:
    """(n,T) terms -> (n,T) each: what a step shows that depends on the terms."""
    after = terms.cumsum(dim=1) % MODULUS
    before = after.roll(1, dims=1)
    before[:, 0] = 0
    value = terms + before
    return [terms, terms, before, value, value, after]
