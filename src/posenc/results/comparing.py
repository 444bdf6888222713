"""Contenders of a panel against one of them, seed by seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from posenc.results import inference
from posenc.results.panels import Contender, Panel, Run

MARGIN = 0.05
"""Scores that differ by no more count as equal."""
LEVEL = 0.05
"""Of every test."""
ENOUGH = 5
"""Seeds from which a 90 % interval of a paired difference exists."""

Standing = Literal["equivalent", "better", "worse", "undecided"]


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


def against(
    rival: Contender, others: Sequence[Contender], view: View, *, differ: bool
) -> list[Versus]:
    """Each of the others against the rival; p values are corrected over all that have one.

    Without `differ`, what `differing` found, nobody is called better or worse.
    """
    found = [_versus(rival, other, view, differ=differ) for other in others]
    tested = [versus.p for versus in found if versus.p is not None]
    corrected = iter(inference.holm(tested))
    return [
        versus if versus.p is None else versus._replace(holm=next(corrected)) for versus in found
    ]


def _versus(rival: Contender, other: Contender, view: View, *, differ: bool) -> Versus:
    own, theirs = view.scores(other), view.scores(rival)
    shared = sorted(own.keys() & theirs.keys())
    if not shared:
        return Versus(other, 0, None, None, None, None, None, "undecided")
    differences = [own[seed] - theirs[seed] for seed in shared]
    interval = inference.difference_interval(differences)
    return Versus(
        contender=other,
        seeds=len(shared),
        difference=fmean(differences),
        interval=interval,
        p=inference.sign_flip(differences) if len(shared) > 1 else None,
        holm=None,
        superiority=inference.superiority(list(own.values()), list(theirs.values())),
        standing=_standing(interval, differ=differ),
    )


def _standing(interval: tuple[float, float] | None, *, differ: bool) -> Standing:
    if interval is None:
        return "undecided"
    low, high = interval
    if low >= -MARGIN and high <= MARGIN:
        return "equivalent"
    if differ and low > 0:
        return "better"
    if differ and high < 0:
        return "worse"
    return "undecided"


def differing(panel: Panel, view: View) -> float | None:
    """p that what the contenders are called does not matter: it is shuffled within every seed.

    Over the seeds that all contenders share, those apart that have too few for an interval. None
    where fewer than two contenders or two seeds are left.
    """
    scores = [view.scores(contender) for contender in panel.contenders]
    scores = [own for own in scores if len(own) >= ENOUGH]
    if len(scores) < 2:
        return None
    shared = sorted(set.intersection(*(set(own) for own in scores)))
    if len(shared) < 2:
        return None
    return inference.shuffle_test([[own[seed] for seed in shared] for own in scores])
