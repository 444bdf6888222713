"""Curves against length as rows: what a chart of a panel draws."""

from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any

from posenc.results import inference
from posenc.results.labels import METRICS
from posenc.results.panels import Contender, Panel, Run

FEW = 30
"""Lengths that are marked on a line; more would hide it."""
CLEAR = 4
"""Contenders up to which their bands can be told apart."""
ASIDE = 24
"""Points over which the seeds of one length are set side by side, where there are few lengths."""

Rows = list[dict[str, Any]]
"""Where a row holds lists, they have a place for each length."""


def ranking(panels: Sequence[Panel], metric: str = "exact") -> list[str]:
    """All labels, best first: their order in the legend, by which they get colours.

    The best has the highest mean score, to which a run that is not fitted adds nothing, or, if the
    metric is bits, needs the fewest at the end.
    """
    worth: dict[str, list[float]] = {}
    for panel in panels:
        for contender in panel.contenders:
            own = worth.setdefault(contender.label, [])
            if metric == "bits":
                own.append(-fmean(run.curves["bits"][-1] for run in contender.runs))
            else:
                own.append(fmean((run.score or 0) * run.fitted for run in contender.runs))
    return sorted(worth, key=lambda label: (-fmean(worth[label]), label))


def datasets(panel: Panel, order: Sequence[str]) -> dict[str, Rows]:
    """The rows behind a chart: `lines`, `whole`, `seeds`, `chance` and the `trained` range.

    Lines are means over fitted runs and over those that are not; whole ones, for bits, of which
    being fitted says nothing, over all of them. What comes first in `order`, labels of contenders,
    is drawn first.
    """
    lengths = panel.lengths
    contenders = sorted(panel.contenders, key=lambda each: order.index(each.label))
    low, high = lengths[0], lengths[-1]
    ends: list[float] = [*lengths]
    chance = {"exact": panel.chance, "token_accuracy": panel.token_chance}
    if low == high:  # at one length too, chance is a line
        ends, chance = [low - 0.5, high + 0.5], {name: each * 2 for name, each in chance.items()}
    drawn = {
        "length": lengths,
        "marked": len(lengths) <= FEW,
        "clear": len(contenders) <= CLEAR,
    }
    return {
        "lines": [
            _line(contender, [run for run in contender.runs if run.fitted is fitted]) | drawn
            for contender in contenders
            for fitted in sorted({run.fitted for run in contender.runs})
        ],
        "whole": [
            _line(contender, contender.runs)
            | {"fitted": True, "fit": str(len(contender.runs))}
            | drawn
            for contender in contenders
        ],
        "seeds": [
            {"label": contender.label, "seed": run.seed, "length": lengths, **run.curves}
            | {"fit": _fit(run), "shift": shift}
            for contender in contenders
            for run, shift in zip(contender.runs, _shifts(panel, contender), strict=True)
        ],
        "chance": [{"length": ends, "last": ends[-1], **chance}],
        "trained": [{"from": low, **_trained(panel)}],
    }


def _trained(panel: Panel) -> dict[str, Any]:
    """Where the trained range ends, and what is said of it, which is nothing if none was tested."""
    if not any(panel.in_range):
        return {"to": panel.lengths[0], "said": ""}
    return {"to": min(panel.train_max, panel.lengths[-1]), "said": "trained"}


def _line(contender: Contender, runs: Sequence[Run]) -> dict[str, Any]:
    """What runs come to at every length, and by metric the ends of their interval.

    Those are None for a single run, and for runs that are not fitted.
    """
    problems, fitted = min(run.problems for run in runs), runs[0].fitted
    row: dict[str, Any] = {
        "label": contender.label,
        "fitted": fitted,
        "fit": f"{len(runs)} of {len(contender.runs)} {_fit(runs[0])}",
        "problems": problems,
    }
    for name in METRICS:
        by_length = list(zip(*(run.curves[name] for run in runs), strict=True))
        ends = [_ends(name, values, problems) for values in by_length]
        if name != "bits" and not fitted:
            ends = [(None, None)] * len(ends)
        row[name] = [fmean(values) for values in by_length]
        row[f"{name}_low"], row[f"{name}_high"] = map(list, zip(*ends, strict=True))
    return row


def _fit(run: Run) -> str:
    return "fitted" if run.fitted else "not fitted"


@cache  # values repeat, above all those of solved lengths
def _ends(name: str, values: tuple[float, ...], problems: int) -> tuple[float | None, float | None]:
    """Of the interval for the mean over seeds, or, of bits, of what was seen."""
    if name == "bits":
        return min(values), max(values)
    return inference.mean_interval(values, problems=problems) or (None, None)


def _shifts(panel: Panel, contender: Contender) -> list[float]:
    """How far each seed is set aside, in points: they share the room between two lengths."""
    most = max(len(each.runs) for each in panel.contenders)
    step = min(3, ASIDE * 5 / max(len(panel.lengths), 5) / most)
    middle = (len(contender.runs) - 1) / 2
    return [round((k - middle) * step, 2) for k in range(len(contender.runs))]
