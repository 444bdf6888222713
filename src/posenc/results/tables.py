"""The tables of a report."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from posenc.results import inference, statistics
from posenc.results.comparing import LEVEL, Versus, View, seeds_to_decide
from posenc.results.document import Cell, Table
from posenc.results.labels import MASK_TELLS_ORDER, MISSING, mask_tells_order, signed
from posenc.results.panels import Contender, Panel, mean_of
from posenc.results.reading import Skipped

NARROW = "\N{NO-BREAK SPACE}"
JUST_BEYOND = 1.25
MULTIPLES = (2, 5)
"""Of the trained length: what the columns of a table show; see `columns`."""
NEAR = 0.1
"""How far a tested length may lie from a multiple, as a share of it."""


class Column(NamedTuple):
    """A stretch of tested lengths, as their places in the panel."""

    head: str
    places: list[int]


def columns(panel: Panel) -> list[Column]:
    """In range, just beyond, the tested lengths nearest to MULTIPLES, and the longest."""
    lengths, end = panel.lengths, panel.train_max
    found = [
        Column("in range", [k for k, inside in enumerate(panel.in_range) if inside]),
        Column(
            "just beyond", [k for k, each in enumerate(lengths) if end < each <= JUST_BEYOND * end]
        ),
    ]
    for multiple in MULTIPLES:
        goal = multiple * end
        nearest = min(range(len(lengths)), key=lambda k: abs(lengths[k] - goal))
        if abs(lengths[nearest] - goal) <= NEAR * goal:
            found.append(Column(f"{multiple}x: {lengths[nearest]}", [nearest]))
    last = len(lengths) - 1
    if all(last not in column.places for column in found):
        found.append(Column(f"at {lengths[last]}", [last]))
    return [column for column in found if column.places]


def mean_exact(contender: Contender, panel: Panel) -> list[float]:
    """Mean exact match by length over its fitted runs or, where none is, over all of them."""
    curves = [run.curves["exact"] for run in contender.fitted or contender.runs]
    return [fmean(curve[k] for curve in curves) for k in range(len(panel.lengths))]


def results_table(panel: Panel, remarks: Sequence[str]) -> Table:
    """What came out: exact match over stretches of lengths, and what sums it up."""
    stretches = columns(panel)
    rows = [_result(contender, panel, stretches) for contender in panel.contenders]
    chance = [_number(_over(panel.chance, column)) for column in stretches]
    blank = Cell("")
    summed = [blank, _number(panel.chance_score), blank, blank, blank]
    if panel.many_tokens:
        summed.append(_number(panel.score_of(panel.token_chance)))
    foot = [Cell("chance"), blank, *chance, *summed]
    tokens = ["token score"] if panel.many_tokens else []
    return Table(
        title=panel.tested,
        head=[
            "encoding", "fitted", *(column.head for column in stretches), "holds to", "score",
            f"95{NARROW}% interval", "best seed", "all runs", *tokens,
        ],
        rows=rows,
        foot=[foot],
        notes=[*remarks, *_notes(panel)],
    )  # fmt: skip


def _result(contender: Contender, panel: Panel, stretches: Sequence[Column]) -> list[Cell]:
    exact, fitted, runs = mean_exact(contender, panel), contender.fitted, contender.runs
    star = " *" if mask_tells_order(panel.model, contender.encoding) else ""
    cells = [_number(_over(exact, column)) for column in stretches]
    if not fitted:
        cells = [Cell(f"({cell.text})", cell.value) for cell in cells]
    scores = [run.score for run in fitted if run.score is not None]
    interval = Cell("one seed") if len(scores) == 1 else Cell(MISSING)
    if len(scores) > 1:
        problems = min(run.problems for run in fitted)
        interval = _interval(inference.mean_interval(scores, problems=problems))
    held = contender.holds_to
    return [
        Cell(contender.label + star),
        Cell(f"{len(fitted)}/{len(runs)}", len(fitted) / len(runs)),
        *cells,
        Cell(str(held or MISSING), held),
        _number(contender.score),
        interval,
        _number(max(scores, default=None)),
        _number(mean_of(runs, "score")),
        *([_number(mean_of(fitted, "token_score"))] if panel.many_tokens else []),
    ]


def _over(curve: Sequence[float], column: Column) -> float:
    return fmean(curve[place] for place in column.places)


def _notes(panel: Panel) -> list[str]:
    problems = sorted({run.problems for each in panel.contenders for run in each.runs})
    low, high = statistics.wilson(problems[0] // 2, problems[0])
    notes = [
        f"{' or '.join(map(str, problems))} problems a length, which alone leave up to "
        f"±{(high - low) / 2:.3f} open (95 %)."
    ]
    if any(not contender.fitted for contender in panel.contenders):
        notes.append("In parentheses: not one run is fitted; means over all of them.")
    if any(len(contender.runs) == 1 for contender in panel.contenders):
        notes.append("One seed is not a result.")
    if panel.mask_tells:
        notes.append(f"*: {MASK_TELLS_ORDER}.")
    return notes


def comparison_table(title: str, found: Sequence[Versus], view: View, *, pairs: int) -> Table:
    """Contenders against one of them over the same seeds; p is corrected for so many pairs."""
    rows = []
    for versus in found:
        difference = versus.difference
        rows.append([
            Cell(versus.contender.label),
            Cell(str(versus.seeds), versus.seeds),
            Cell(MISSING if difference is None else signed(difference), difference),
            _interval(versus.interval, signed),
            _p(versus.p),
            _p(None if versus.p is None else inference.smallest_p(versus.seeds)),
            _p(versus.holm),
            _number(versus.superiority),
            Cell(_standing(versus, view)),
        ])  # fmt: skip
    return Table(
        title=title,
        head=[
            "encoding", "seeds", "difference", f"90{NARROW}% interval", "p", "least p", "Holm",
            "beats it", "standing",
        ],
        rows=rows,
        words=(0, 8),
        notes=[_holm_note(pairs)] if pairs else [],
    )  # fmt: skip


def _holm_note(pairs: int) -> str:
    needed = f"so {seeds_to_decide(pairs)} seeds or more"
    return (
        f"Holm: for {pairs} pair{'' if pairs == 1 else 's'}. Better or worse takes {LEVEL} there, "
        f"{needed}."
    )


def _standing(versus: Versus, view: View) -> str:
    """Undecided has a reason, where it is another one than a difference of either sign."""
    if not view.scores(versus.contender):
        return "not fitted"
    if versus.seeds == 0:
        return "no seed shared"
    return versus.standing


def cost_table(panel: Panel, rival: Contender) -> Table:
    """Numbers that are trained, and the time of a step relative to that of one contender."""
    rows = []
    for contender in panel.contenders:
        count = contender.parameters
        own, theirs = contender.step_seconds(), rival.step_seconds()
        shared = max(own.keys() & theirs.keys(), default=None)  # of several the most steps
        ratio = own[shared] / theirs[shared] if shared else None
        trained = Cell(MISSING if count is None else f"{count:,}", count)
        rows.append([Cell(contender.label), trained, _number(ratio)])
    head = ["encoding", "parameters", "step time"]
    notes = [
        f"Step time: relative to {rival.label} on the same machine over as many steps, medians "
        "over runs."
    ]
    return Table(title="Cost", head=head, rows=rows, notes=notes)


def rank_table(ranked: Sequence[tuple[str, int, Sequence[tuple[float, float, float]]]]) -> Table:
    """Label, number of tasks, and mean rank with its interval: over fitted runs, over all."""
    rows = [
        [
            Cell(label),
            Cell(str(tasks), tasks),
            *(cell for mean, low, high in views for cell in (
                Cell(f"{mean:.2f}", mean), Cell(f"{low:.2f}{NARROW}to{NARROW}{high:.2f}", low))),
        ]
        for label, tasks, views in ranked
    ]  # fmt: skip
    interval = f"95{NARROW}% interval"
    head = ["encoding", "tasks", "mean rank", interval, "all runs", interval]
    return Table(title="Mean rank", head=head, rows=rows)


def runs_table(panels: Sequence[Panel]) -> Table:
    """Every run with its folder."""
    rows = []
    for panel in panels:
        for contender in panel.contenders:
            for run in contender.runs:
                folder = run.origin.folder if run.origin else None
                fit = "fitted" if run.fitted else "not fitted"
                rows.append([
                    Cell(panel.title), Cell(contender.label), Cell(f"seed {run.seed}", run.seed,
                    folder), Cell(fit), _number(run.trained_mean), _number(run.score),
                    _number(run.token_score), Cell(str(run.holds_to or MISSING), run.holds_to),
                ])  # fmt: skip
    head = [
        "task, model", "encoding", "run", "fit", "in range", "score", "token score", "holds to",
    ]  # fmt: skip
    return Table(title="Every run", head=head, rows=rows, words=(0, 1, 2, 3))


def skipped_table(skipped: Sequence[Skipped]) -> Table:
    """What was found and is not counted."""
    rows = [
        [Cell(path.name, None, path if path.is_dir() else path.parent), Cell(reason)]
        for path, reason in skipped
    ]
    return Table(title="Left out", head=["where", "why"], rows=rows, words=(0, 1))


def _number(value: float | None) -> Cell:
    return Cell(MISSING) if value is None else Cell(f"{value:.2f}", value)


def _p(value: float | None) -> Cell:
    return Cell(MISSING) if value is None else Cell(f"{value:.3g}", value)


def _interval(
    ends: tuple[float, float] | None, write: Callable[[float], str] = "{:.2f}".format
) -> Cell:
    if ends is None:
        return Cell(MISSING)
    low, high = map(write, ends)
    return Cell(f"{low}{NARROW}to{NARROW}{high}", ends[0])
