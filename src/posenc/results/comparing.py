"""Contenders of a panel against one of them, seed by seed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal, NamedTuple

from posenc.results import inference
from posenc.results.panels import Contender, Panel, Run

MARGIN = 0.05
"""Scores that differ by no more count as equal."""
LEVEL = 0.05
"""Of a corrected p, from which on a difference is called one."""
ENOUGH = 5
"""Seeds from which a 90 % interval of a paired difference exists."""

Standing = Literal["better", "equivalent", "worse", "above", "below", "undecided"]
"""Above and below: at every shared seed, which are too few to call it better or worse."""


class Versus(NamedTuple):
    """One contender against another, over the seeds at which both count."""

    contender: Contender
    seeds: int
    difference: float | None
    """Mean of its score less that of the other, seed by seed."""
    interval: tuple[float, float] | None
    """90 % interval of the paired difference; None where there are too few seeds for one."""
    p: float | None
    holm: float | None
    superiority: float | None
    """Probability that a run of it beats a run of the other."""
    standing: Standing


@dataclass(frozen=True)
class View:
    """Which runs of a contender count."""

    name: str
    counted: Callable[[Contender], list[Run]]

    def scores(self, contender: Contender) -> dict[int, float]:
        """Seed -> score, of the runs that count and were tested beyond their trained lengths."""
        runs = self.counted(contender)
        return {run.seed: run.score for run in runs if run.score is not None}


GATED = View("fitted runs", lambda contender: contender.fitted)
ALL = View("every run, fitted or not", lambda contender: contender.runs)


def against(rival: Contender, others: Sequence[Contender], view: View) -> list[Versus]:
    """Each of the others against one that was chosen beforehand.

    p values are corrected over all that have one.
    """
    found = [_versus(rival, other, view) for other in others]
    corrected = iter(inference.holm([each.p for each in found if each.p is not None]))
    return [each if each.p is None else _judged(each, next(corrected)) for each in found]


def against_best(best: Contender, others: Sequence[Contender], view: View) -> list[Versus]:
    """Each of the others against the one that the data chose.

    Anyone might have come out on top, so p values are corrected over all pairs.
    """
    pairs = [_versus(one, other, view) for one, other in combinations([best, *others], 2)]
    corrected = inference.holm([1 if each.p is None else each.p for each in pairs])
    return [
        each if each.p is None else _judged(each, holm)
        for each, holm in zip(pairs[: len(others)], corrected, strict=False)  # the best come first
    ]


def _versus(rival: Contender, other: Contender, view: View) -> Versus:
    own, theirs = view.scores(other), view.scores(rival)
    shared = sorted(own.keys() & theirs.keys())
    if not shared:
        return Versus(other, 0, None, None, None, None, None, "undecided")
    differences = [own[seed] - theirs[seed] for seed in shared]
    return Versus(
        contender=other,
        seeds=len(shared),
        difference=fmean(differences),
        interval=inference.difference_interval(differences),
        p=inference.sign_flip(differences) if len(shared) > 1 else None,
        holm=None,
        superiority=inference.superiority(list(own.values()), list(theirs.values())),
        standing=_lean(differences),
    )


def _lean(differences: Sequence[float]) -> Standing:
    """What the seeds show before any test."""
    if len(differences) < 2:
        return "undecided"
    if min(differences) > inference.ROUNDING:
        return "above"
    return "below" if max(differences) < -inference.ROUNDING else "undecided"


def _judged(versus: Versus, holm: float) -> Versus:
    """The same with its corrected p and what follows from it."""
    versus = versus._replace(holm=holm)
    if versus.interval and max(map(abs, versus.interval)) <= MARGIN:
        return versus._replace(standing="equivalent")
    if versus.difference and holm <= LEVEL:
        return versus._replace(standing="better" if versus.difference > 0 else "worse")
    return versus


def seeds_to_decide(comparisons: int) -> int:
    """Seeds from which so many comparisons, all of one sign, can all be called better or worse."""
    return math.ceil(1 + math.log2(comparisons / LEVEL))


class Omnibus(NamedTuple):
    """Whether encodings matter at all: p, over so many of them and their shared seeds."""

    p: float
    encodings: int
    seeds: int


def differing(panel: Panel, view: View) -> Omnibus | None:
    """p that what the contenders are called does not matter: it is shuffled within every seed.

    Over as many contenders as share ENOUGH seeds, those with the most seeds first. None where they
    are fewer than two.
    """
    scores = sorted(map(view.scores, panel.contenders), key=len, reverse=True)
    taken: list[dict[int, float]] = []
    shared: set[int] = set(scores[0]) if scores else set()
    for own in scores:
        if len(shared & own.keys()) >= ENOUGH:
            shared &= own.keys()
            taken.append(own)
    if len(taken) < 2:
        return None
    p = inference.shuffle_test([[own[seed] for seed in sorted(shared)] for own in taken])
    return Omnibus(p, len(taken), len(shared))
