"""The score of a guesser that is told the bag of prompt tokens, where no formula gives it."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance


def learned_chance(answers: Tensor, scored: Tensor | None = None) -> Chance:
    """Estimates the chance from b bags with d prompts each, drawn as the task draws them.

    (b,d,A) int64 answers, (b,d,A) bool what of them is scored. For every bag a guesser takes the
    commonest answer, and the commonest token of every place, of the first half of the prompts, and
    is asked for the others. So it never gains from having seen what it is asked, and falls short of
    the best guess by what half of the prompts do not teach.
    """
    if scored is None:
        scored = torch.ones_like(answers, dtype=torch.bool)
    met, asked = answers.where(scored, -1).chunk(2, dim=1)
    exact = (asked == _commonest_row(met)[:, None]).all(dim=2).double().mean()
    right = (asked == met.mode(dim=1).values[:, None]) & (asked >= 0)
    return Chance(exact.item(), (right.sum() / (asked >= 0).sum()).item())


def _commonest_row(answers: Tensor) -> Tensor:
    """(b,d,A) -> (b,A)."""
    rows, number = answers.flatten(0, 1).unique(dim=0, return_inverse=True)
    return rows[number.view(answers.shape[:2]).mode(dim=1).values]
