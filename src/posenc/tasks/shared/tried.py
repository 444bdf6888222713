"""The score of a guesser that has met problems of every bag: all that there are, or many.

Unlike `blind`, which needs other orders of a given bag, this needs no more than problems as a task
draws them; so it suits bags that come up again and again.
"""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample


def tried_chance(problems: Sample, weights: Tensor | None = None) -> Chance:
    """The chance where these are all problems of a length, (n,) `weights` how likely each is.

    All are as likely if no weights are given.
    """
    if weights is None:
        weights = torch.ones(len(problems.prompt))
    return _chance(problems, weights.double(), weights.double())


def met_chance(problems: Sample) -> Chance:
    """Estimates the chance from problems as they are drawn.

    The guesser has met every second one and is asked for the others. So it falls short of the best
    guess by what too few problems of a bag do not teach.
    """
    even = (torch.arange(len(problems.prompt)) % 2).double()
    return _chance(problems, 1 - even, even)


def _chance(problems: Sample, met: Tensor, asked: Tensor) -> Chance:
    """Of guesses that weigh problems by `met` to learn, and by `asked` to be asked."""
    prompt, answer, scored = problems[:3]
    if scored is None:
        scored = torch.ones_like(answer, dtype=torch.bool)
    slots = answer.shape[1]
    bags = _numbered(_random(1 + int(prompt.max()))[prompt])
    answers = _numbered(_random(slots) * answer.where(scored, -1))
    whole = _guessed(bags, answers, met, asked) / asked.sum()
    row, slot = scored.nonzero(as_tuple=True)
    of_slots = bags[row] * slots + slot
    token = _guessed(of_slots, answer[scored], met[row], asked[row]) / asked[row].sum()
    return Chance(whole.item(), token.item())


def _guessed(cases: Tensor, answers: Tensor, met: Tensor, asked: Tensor) -> Tensor:
    """(n,) each -> (), the weight of what is guessed: in every case the answer met most often."""
    size = int(answers.max()) + 1
    total = (int(cases.max()) + 1) * size
    seen, right = (
        torch.bincount(cases * size + answers, weights=weights, minlength=total).view(-1, size)
        for weights in (met, asked)
    )
    return right.gather(1, seen.argmax(dim=1, keepdim=True)).sum()


def _random(count: int) -> Tensor:
    """(count,) whole numbers, always the same."""
    return torch.randint(2**62, (count,), generator=torch.Generator().manual_seed(0))


def _numbered(rows: Tensor) -> Tensor:
    """(n,L) -> (n,) from 0 on: rows have one number if their sums are equal.

    Sums of different multiples of random numbers of 62 bits are equal by a rare accident only.
    """
    return rows.sum(dim=1).unique(return_inverse=True)[1]
