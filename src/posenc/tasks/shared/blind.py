"""The score of a guesser that is told the bag of prompt tokens, where no formula gives it."""

from torch import Tensor

from posenc.tasks.base import Chance


def learned_chance(answers: Tensor) -> Chance:
    """Estimates the chance from b bags with d prompts each, drawn as the task draws them.

    (b,d,A) int64 answers, all of which is scored. For every bag a guesser takes the commonest
    answer, and the commonest token of every place, of the first half of the prompts, and is asked
    for the others. So it never gains from having seen what it is asked, and falls short of the best
    guess by what half of the prompts do not teach.
    """
    met, asked = answers.chunk(2, dim=1)
    exact = (asked == _commonest_row(met)[:, None]).all(dim=2).double().mean()
    token = (asked == met.mode(dim=1).values[:, None]).double().mean()
    return Chance(exact.item(), token.item())


def _commonest_row(answers: Tensor) -> Tensor:
    """(b,d,A) -> (b,A)."""
    rows, number = answers.flatten(0, 1).unique(dim=0, return_inverse=True)
    return rows[number.view(answers.shape[:2]).mode(dim=1).values]
