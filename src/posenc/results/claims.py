"""What the runs say to what a study expected of them."""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from posenc.results import inference
from posenc.results.comparing import ALL, ENOUGH, LEVEL
from posenc.results.document import Cell, Section, Table
from posenc.results.expected import Claim
from posenc.results.labels import MISSING, signed
from posenc.results.panels import Panel, Run
from posenc.results.statements import Scope, Unmeasured

CLAIMS = "Claims"
LEAST = (
    "p: one-sided, of each statement by itself; the least that n seeds can give is one half to the "
    "power of n, 0.031 for five."
)
"""Stands below the table."""

Verdict = Literal["reproduced", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

CLAIMED = (
    "A claim is one or more statements that were written down before their verdict; the page of a "
    "study tells of rows that were known by then. True by: one side of a statement less the other, "
    "measured seed by seed, as mean, least and most. p is that of the one-sided exact sign-flip "
    "test over seeds. "
    f"Reproduced: p is at most {LEVEL}; of a statement about each length, at every one of them, "
    "and the table shows the one where p is largest. Not reproduced: p of the contrary, there "
    "multiplied by the number of lengths, so that five seeds can refute no statement about several "
    "lengths, eight one about up to twelve. Undecided: neither, or fewer than "
    f"{ENOUGH} seeds at which all that are compared are fitted (some claims are about every run, "
    "fitted or not). Each statement is tested by itself."
)


class Judged(NamedTuple):
    """A claim and what came of it."""

    claim: Claim
    panel: Panel | None
    margins: list[float]
    """By how much it is true, seed by seed; of several lengths, at the one where it is least so."""
    p: float | None
    verdict: Verdict
    reason: str
    """Why it is undecided."""


def judge(claim: Claim, panels: Sequence[Panel]) -> Judged:
    """What the runs of its panel say to a claim."""
    own = [each for each in panels if (each.task, each.model) == (claim.task, claim.model)]
    every = max(map(_ran, own), key=len, default=set())
    own = [each for each in own if not _ran(each) < every]  # of some runs, asked again later
    if len(own) != 1:
        which = f"{claim.task} in the {claim.model}"
        told = f"{len(own)} tables are of {which}" if own else f"no run of {which}"
        return Judged(claim, None, [], None, "undecided", told)
    (panel,) = own
    try:
        by_seed = _runs(claim, panel)
        scopes = [
            [Scope(panel, runs, length) for runs in by_seed]
            for length in claim.statement.lengths(panel)
        ]
        margins = [[claim.statement.margin(scope) for scope in each] for each in scopes]
    except Unmeasured as reason:
        return Judged(claim, panel, [], None, "undecided", str(reason))
    p, _, least = max((inference.sign_flip_above(each), -fmean(each), each) for each in margins)
    contrary = len(margins) * inference.sign_flip_above([-margin for margin in least])
    if len(least) < ENOUGH:
        told = f"{len(least)} of the {ENOUGH} seeds it takes"
        return Judged(claim, panel, least, p, "undecided", told)
    if p <= LEVEL:
        return Judged(claim, panel, least, p, "reproduced", "")
    if contrary <= LEVEL:
        return Judged(claim, panel, least, p, "not reproduced", "")
    told = "too few seeds agree"
    if max(least) < 0:
        told = f"{len(least)} seeds agree against it, too few for {len(margins)} lengths"
    return Judged(claim, panel, least, p, "undecided", told)


def _ran(panel: Panel) -> set[tuple[int, int, str]]:
    """The runs of a panel, however they were evaluated."""
    runs = [run for contender in panel.contenders for run in contender.runs]
    return {(panel.train_max, run.seed, run.fingerprint) for run in runs}


def _runs(claim: Claim, panel: Panel) -> list[dict[str, Run]]:
    """The runs of all contenders that a claim names, for every seed at which all of them count."""
    counted: dict[str, dict[int, Run]] = {}
    for label in claim.statement.labels:
        contender = panel.named(label)
        if contender is None:
            known = ", ".join(each.label for each in panel.contenders)
            raise Unmeasured(f"no run of {label}; there are {known}")
        counted[label] = {run.seed: run for run in claim.view.counted(contender)}
        if not counted[label]:
            raise Unmeasured(f"{label} is not fitted at any seed")
    shared = set.intersection(*(set(runs) for runs in counted.values()))
    if not shared:
        raise Unmeasured("no seed at which all are fitted")
    return [{label: runs[seed] for label, runs in counted.items()} for seed in sorted(shared)]


def claims_section(claims: Sequence[Claim], panels: Sequence[Panel]) -> Section:
    """All claims of a study, with what came of each."""
    found = [judge(claim, panels) for claim in claims]
    table = Table(
        title=CLAIMS,
        head=["verdict", "claim", "statement", "true by", "p", "seeds", "where"],
        rows=[_row(each) for each in found],
        words=(0, 1, 2, 3, 6),
        notes=[LEAST],
    )
    told = f"Of {len(found)} statement{'' if len(found) == 1 else 's'} {counted(found)}."
    return Section(CLAIMS, [told], [table])


def counted(found: Sequence[Judged]) -> str:
    """How many have which verdict, in words."""
    counts = {verdict: sum(each.verdict == verdict for each in found) for verdict in VERDICTS}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def _row(judged: Judged) -> list[Cell]:
    margins = judged.margins
    by = Cell(MISSING)
    if margins:
        mean, least, most = map(signed, (fmean(margins), min(margins), max(margins)))
        by = Cell(f"{mean} ({least} to {most})", fmean(margins))
    verdict = f"{judged.verdict}: {judged.reason}" if judged.reason else judged.verdict
    return [
        Cell(verdict),
        Cell(judged.claim.says),
        Cell(judged.claim.statement.text),
        by,
        Cell(MISSING if judged.p is None else f"{judged.p:.3f}", judged.p),
        Cell(str(len(margins)), len(margins)),
        Cell(_where(judged)),
    ]


def _where(judged: Judged) -> str:
    """The panel, and whether runs count there that are not fitted."""
    if judged.panel is None:
        return MISSING
    return judged.panel.title + (", all runs" if judged.claim.view is ALL else "")
