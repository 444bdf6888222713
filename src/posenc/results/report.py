"""From what was found to a document, and from a document to Markdown."""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from posenc.errors import ConfigError
from posenc.results import statistics
from posenc.results.across import across
from posenc.results.bits_table import bits_table
from posenc.results.claims import CLAIMED, CLAIMS, claims_section
from posenc.results.comparable import remarks
from posenc.results.comparing import (
    ALL,
    ENOUGH,
    GATED,
    LEVEL,
    MARGIN,
    Versus,
    View,
    against,
    against_best,
)
from posenc.results.document import Cell, Document, Section, Table
from posenc.results.expected import Claim
from posenc.results.panels import Contender, Panel, panels
from posenc.results.reading import Found
from posenc.results.tables import (
    JUST_BEYOND,
    comparison_table,
    cost_table,
    results_table,
    runs_table,
    skipped_table,
)
from posenc.results.verdict import judged, verdict

BASELINE = "sinusoidal"
"""What encodings are compared with unless told otherwise: the first that Transformers had."""

READING = [
    "Exact match is the share of answers that are right in every token. A run is fitted if its "
    f"exact match on trained lengths averages {statistics.HOLDS} or more; only fitted runs enter a "
    "mean, an interval or a comparison, unless the table says otherwise. Just beyond: tested "
    f"lengths up to {JUST_BEYOND} times the trained one. Score: exact match averaged over all "
    "lengths beyond the trained ones, linear between tested ones; token score: the same of token "
    "accuracy. Holds to: the longest tested length up to which exact match never falls below "
    f"{statistics.HOLDS}, the median over runs. Chance: a guess that is blind to order.",
    "The 95 % interval is for the mean over further seeds (where only fitted runs count, over "
    "further fitted ones) and assumes only that seeds are independent and scores lie between 0 and "
    "1 (Gaffke's bound, proved where seeds either succeed or fail and without a known "
    "counterexample elsewhere). With few seeds it is wide, and has to be: if only every second "
    "seed solved a task, five in a row would still do so once in 32 times, so that five solved "
    "seeds leave everything from 0.48 to 1 open, three from 0.29, ten from 0.69.",
    "Comparisons pair runs of one seed, which share data and initial weights of the trunk. p is "
    "that of the two-sided sign-flip test, least p the smallest that so many seeds allow, Holm the "
    "p corrected: for all comparisons of the table with a baseline that was chosen beforehand, for "
    "all pairs of encodings with the best, which the data chose. Better or worse: Holm is at most "
    f"{LEVEL}, so that in 95 of 100 tables all these words are right. Above or below: at every "
    "seed, too few for Holm to be so small. The 90 % interval is the inversion of the test "
    f"and takes {ENOUGH} seeds; equivalent: it lies within ±{MARGIN}. Test and interval are about "
    "the centre of differences that scatter alike to both sides; if one seed in ten fails now and "
    "then, five seeds will often not show it, and equivalent still be said. Beats it: probability "
    "that a run of the one scores above a run of the other.",
    "That encodings differ at all: the scores of each seed are shuffled among the encodings, and p "
    "is the share of shuffles in which their means vary as much.",
    "Mean ranks: 1 is the best; scores that agree to two decimals share a rank. Their interval is "
    "a bootstrap over seeds, with the tasks taken as given; with few seeds it is too narrow.",
]


def document(
    found: Found,
    baseline: str | None = None,
    claims: Sequence[Claim] = (),
    metric: str = "exact",
) -> Document:
    """What these runs come to, every encoding compared with `baseline`, or else with BASELINE.

    Where a panel lacks it, its best contender takes its place. What was claimed beforehand stands
    first, and pictures show `metric` first; if that is bits, a panel has a table of them. Raises
    ConfigError where no panel has a baseline that was named.
    """
    several = panels(found)
    labels = sorted({each.label for panel in several for each in panel.contenders})
    if baseline is not None and baseline not in labels:
        raise ConfigError(f"--baseline '{baseline}': choose one of {', '.join(labels)}")
    sections = [_section(panel, found, baseline or BASELINE, metric) for panel in several]
    appendices = [Section("Every run", [], [runs_table(several)])]
    if found.skipped:
        appendices.insert(0, Section("Left out", [], [skipped_table(found.skipped)]))
    return Document(
        summary=_summary(several, found),
        metric=metric,
        sections=[*_claimed(claims, several), *sections, *across(several)],
        appendices=appendices,
        reading=[*([CLAIMED] if claims else []), *READING],
    )


def _claimed(claims: Sequence[Claim], several: Sequence[Panel]) -> list[Section]:
    return [claims_section(claims, several)] if claims else []


def _section(panel: Panel, found: Found, baseline: str, metric: str) -> Section:
    own = panel.named(baseline)
    tables = [results_table(panel, remarks(panel, found.variants)), *_comparisons(panel, own)]
    if any(each.parameters is not None for each in panel.contenders):
        tables.append(cost_table(panel, own or panel.contenders[0]))
    if metric == "bits":
        tables.insert(0, bits_table(panel))
    return Section(panel.title, verdict(panel, own), tables, panel)


def _comparisons(panel: Panel, baseline: Contender | None) -> list[Table]:
    """Against the best and against the baseline and, where some run is not fitted, over every run
    against the baseline or else the best."""
    found, tables = judged(panel), []
    if found is not None and found.others:
        title = f"Against the best, {found.best.label}"
        tables.append(comparison_table(title, found.others, GATED, pairs=_pairs(found.others)))
    if baseline is not None and found is not None and found.best is not baseline:
        tables.append(_against(panel, baseline, GATED))
    if len(panel.contenders) > 1 and any(not r.fitted for c in panel.contenders for r in c.runs):
        if baseline is not None:
            tables.append(_against(panel, baseline, ALL))
        else:
            best = found.best if found is not None else panel.contenders[0]
            versus = against_best(best, _others(panel, best), ALL)
            title = f"Against {best.label}, {ALL.name}"
            tables.append(comparison_table(title, versus, ALL, pairs=_pairs(versus)))
    return tables


def _against(panel: Panel, baseline: Contender, view: View) -> Table:
    versus = against(baseline, _others(panel, baseline), view)
    pairs = sum(each.p is not None for each in versus)
    return comparison_table(f"Against {baseline.label}, {view.name}", versus, view, pairs=pairs)


def _others(panel: Panel, one: Contender) -> list[Contender]:
    return [contender for contender in panel.contenders if contender is not one]


def _pairs(others: Sequence[Versus]) -> int:
    """Of all that are compared, these and the one they are compared with."""
    return math.comb(len(others) + 1, 2)


def _summary(several: Sequence[Panel], found: Found) -> str:
    evaluations = [
        ((panel.task, panel.model, contender.encoding, run.seed, run.fingerprint), run)
        for panel in several
        for contender in panel.contenders
        for run in contender.runs
    ]
    runs = {key for key, _ in evaluations}  # one may have been evaluated several times
    unfitted = runs - {key for key, run in evaluations if run.fitted}
    labels = {each.label for panel in several for each in panel.contenders}
    parts = [
        _count(len(runs), "finished run"),
        _count(len(labels), "encoding"),
        _count(len({panel.task for panel in several}), "task"),
        _count(len({run.seed for _, run in evaluations}), "seed"),
    ]
    return f"{', '.join(parts)}; {len(unfitted)} not fitted, {len(found.skipped)} left out."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def summary(document: Document) -> str:
    """Verdicts and tables in Markdown, which is what a terminal shows."""
    return _text([document.summary], document.sections, Path())


def markdown(document: Document, *, beside: Path) -> str:
    """All of it in Markdown, with links to run folders from the folder `beside`."""
    text = _text([document.summary], [*document.sections, *document.appendices], beside)
    return "\n\n".join([text, "## How to read this", *document.reading]) + "\n"


def excerpt(document: Document) -> str:
    """How far every encoding holds, in Markdown below a heading.

    What came of the claims stands first or, where there are none, how all tasks rank encodings.
    """
    first = [section for section in document.sections if section.title == CLAIMS]
    if not first:
        first = [section for section in document.sections if section.panel is None]
    held = [
        replace(section, verdict=[], tables=section.tables[:1])
        for section in document.sections
        if section.panel
    ]
    return _text([], [*first, *held], Path(), level=3)


def _text(parts: list[str], sections: Sequence[Section], beside: Path, level: int = 2) -> str:
    for section in sections:
        parts.append(f"{'#' * level} {section.title}")
        if section.verdict:
            parts.append("\n".join(f"- {sentence}" for sentence in section.verdict))
        for table in section.tables:
            if table.title != section.title:
                parts.append(f"{'#' * level}# {table.title}")
            parts.append(_table(table, beside))
            if table.notes:
                parts.append("  \n".join(map(_plain, table.notes)))
    return "\n\n".join(parts)


def _table(table: Table, beside: Path) -> str:
    rule = ["---" if k in table.words else "---:" for k in range(len(table.head))]
    body = [[_cell(cell, beside) for cell in row] for row in [*table.rows, *table.foot]]
    return "\n".join(f"| {' | '.join(line)} |" for line in [table.head, rule, *body])


def _cell(cell: Cell, beside: Path) -> str:
    text = _plain(cell.text)
    if cell.link is None:
        return text
    return f"[{text}]({quote(os.path.relpath(cell.link, beside))})"


def _plain(text: str) -> str:
    """Without the signs that mean something to Markdown."""
    return re.sub(r"([|*<])", r"\\\1", text).replace("\n", " ")
