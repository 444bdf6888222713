"""Encodings over several tasks: mean ranks, and whether they differ."""

import math
from collections.abc import Sequence

from posenc.results import inference
from posenc.results.comparing import LEVEL
from posenc.results.document import Section
from posenc.results.panels import Contender, Panel, Run
from posenc.results.tables import rank_table


def across(panels: Sequence[Panel]) -> list[Section]:
    """A section for every model that was tested at two tasks or more, with several encodings."""
    sections = []
    for model in dict.fromkeys(panel.model for panel in panels):
        tasks = _one_a_task([
            panel for panel in panels if panel.model == model and panel.chance_score is not None
        ])  # fmt: skip
        labels = {contender.label for panel in tasks for contender in panel.contenders}
        ranked = sorted(each for each in labels if all(panel.named(each) for panel in tasks))
        if len(tasks) > 1 and len(ranked) > 1:
            sections.append(_section(model, tasks, ranked, sorted(labels - set(ranked))))
        elif len(tasks) > 1 and len(labels) > 1:
            names = ", ".join(panel.task for panel in tasks)
            told = f"Not ranked: no two encodings were tested at all of {names}."
            sections.append(Section(f"Across tasks, {model}", [told], []))
    return sections


def _one_a_task(panels: Sequence[Panel]) -> list[Panel]:
    """Of several panels of one task, such as later evaluations make, that with the most runs."""
    best: dict[str, Panel] = {}
    for panel in panels:
        known = best.get(panel.title)
        if known is None or _runs(panel) > _runs(known):
            best[panel.title] = panel
    return list(best.values())


def _runs(panel: Panel) -> int:
    return sum(len(contender.runs) for contender in panel.contenders)


def _section(
    model: str, tasks: Sequence[Panel], ranked: Sequence[str], others: Sequence[str]
) -> Section:
    gated, every = (
        [_scores(panel, ranked, gate=gate) for panel in tasks] for gate in (True, False)
    )
    views = [inference.mean_ranks(gated), inference.mean_ranks(every)]
    rows = sorted(
        ((label, len(tasks), [view[k] for view in views]) for k, label in enumerate(ranked)),
        key=lambda row: row[2][0],
    )
    names = ", ".join(panel.task for panel in tasks)
    sentences = [
        f"Ranks of the mean score at {len(tasks)} tasks ({names}): 1 is the best, ties share, and "
        "where no run is fitted an encoding comes last."
    ]
    p = inference.friedman([[inference.mean_or_last(own[k]) for own in gated]
                            for k in range(len(ranked))])  # fmt: skip
    if p is None:
        sentences.append("Too few encodings for Friedman's test.")
    else:
        verdict = "the ranks differ" if p <= LEVEL else "no difference between the ranks is shown"
        least = math.factorial(len(ranked)) ** (1 - len(tasks))
        told = f"; the least p of so few is {least:.2g}" if least > LEVEL else ""
        sentences.append(f"Friedman's test over these tasks: p = {p:.2g}, {verdict}{told}.")
    if others:
        sentences.append(f"Not ranked, as some task lacks them: {', '.join(others)}.")
    return Section(f"Across tasks, {model}", sentences, [rank_table(rows)])


def _scores(panel: Panel, labels: Sequence[str], *, gate: bool) -> list[list[float]]:
    """(labels, seeds) of scores at all seeds; nan where there is no run or it does not count."""
    runs = [_by_seed(panel.named(label)) for label in labels]
    seeds = sorted(set().union(*runs))
    return [[_score(own.get(seed), gate=gate) for seed in seeds] for own in runs]


def _score(run: Run | None, *, gate: bool) -> float:
    if run is None or run.score is None or (gate and not run.fitted):
        return math.nan
    return run.score


def _by_seed(contender: Contender | None) -> dict[int, Run]:
    return {run.seed: run for run in contender.runs} if contender else {}
