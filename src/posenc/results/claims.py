"""What a study expected of its runs, written down beforehand, and what the runs say to it."""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

import yaml

from posenc.choosing import choices
from posenc.errors import ConfigError, check_choice
from posenc.results import inference
from posenc.results.comparing import ALL, ENOUGH, GATED, LEVEL, View
from posenc.results.document import Cell, Section, Table
from posenc.results.labels import MISSING, signed
from posenc.results.panels import Panel, Run
from posenc.results.statements import Scope, Statement, Unmeasured

EXPECTED = "expected.yaml"
"""Holds the claims, and makes a folder of experiments that of a study."""
CLAIMS = "Claims"
RUNS = {"fitted": GATED, "all": ALL}
"""Whose runs a claim is about: those that learned the trained lengths, or all of them."""
NEEDED = ("says", "holds", "task", "model")

LEAST = (
    "p: one-sided, of each statement by itself; the least that n seeds can give is one half to the "
    "power of n, 0.031 for five."
)

Verdict = Literal["reproduced", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

CLAIMED = (
    "A claim is one or more statements that were written down before their verdict; the page of a "
    "study tells of rows that were known by then. True by: one side of a statement less the other, "
    "measured seed by seed, as mean, least and most. p is that of the one-sided exact sign-flip "
    "test over seeds, at best 1/32 for five. "
    f"Reproduced: p is at most {LEVEL}; of a statement about each length, at every one of them, "
    "and the table shows the one where p is largest. Not reproduced: p of the contrary, there "
    "multiplied by the number of lengths, so that five seeds can refute no statement about several "
    "lengths, eight one about up to twelve. Undecided: neither, or fewer than "
    f"{ENOUGH} seeds at which all that are compared are fitted (some claims are about every run, "
    "fitted or not). Each statement is tested by itself."
)


class Claim(NamedTuple):
    """A statement about one panel, in words and as the rows decide it."""

    says: str
    statement: Statement
    task: str
    model: str
    view: View


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


class _Texts(yaml.BaseLoader):
    """Reads every scalar as text, and refuses a key that is there twice: one claim would go."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                told = f"{key} is there twice; of several texts write a list"
                raise yaml.constructor.ConstructorError(None, None, told, node.start_mark)
        return dict(super().construct_mapping(node, deep))


def read_claims(path: Path) -> list[Claim]:
    """Of an expected.yaml, in its order; lists of tasks and statements are claims of their own.

    An empty list claims nothing.

    Raises ConfigError, naming file and claim, for anything that is no claim.
    """
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), _Texts)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ConfigError(f"{path}: {where}{error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: {str(error).splitlines()[0]}") from None
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: has to be a list of claims, each with {', '.join(NEEDED)}")
    claims = []
    for number, entry in enumerate(entries, start=1):
        try:
            claims += _read(entry)
        except ValueError as error:
            raise ConfigError(f"{path}: claim {number}: {error}") from None
    return claims


def _read(entry: Any) -> list[Claim]:
    if not isinstance(entry, dict) or not set(NEEDED) <= entry.keys() <= {*NEEDED, "runs"}:
        given = f", not {', '.join(map(str, entry))}" if isinstance(entry, dict) else ""
        raise ValueError(f"takes {', '.join(NEEDED)}, and may have runs{given}")
    says, model = _word(entry, "says"), _word(entry, "model")
    check_choice("model", model, choices("model"))
    runs = _word({"runs": "fitted"} | entry, "runs")
    if runs not in RUNS:
        raise ValueError(f"runs={runs}: choose one of {', '.join(RUNS)}")
    claims = []
    for task in _words(entry, "task"):
        check_choice("task", task, choices("task"))
        for text in _words(entry, "holds"):
            try:
                statement = Statement(text)
            except ValueError as error:
                raise ValueError(f"holds={text}: {error}") from None
            for label in statement.labels:
                for part in re.split(r" [+\[]", label)[0].split("+"):
                    encoding = part.partition("@")[0]
                    check_choice(f"holds={text}: encoding", encoding, choices("encoding"))
            claims.append(Claim(says, statement, task, model, RUNS[runs]))
    return claims


def _words(entry: dict[str, Any], key: str) -> list[str]:
    """One text, or a list of them. Raises ValueError for anything else."""
    found = entry[key] if isinstance(entry[key], list) else [entry[key]]
    if not found or not all(isinstance(each, str) for each in found):
        raise ValueError(
            f"{key}={entry[key]}: has to be a text or a list of texts, a line for each"
        )
    return found


def _word(entry: dict[str, Any], key: str) -> str:
    if not isinstance(entry[key], str):
        raise ValueError(f"{key}={entry[key]}: has to be a text")
    return str(entry[key])


def judge(claim: Claim, panels: Sequence[Panel]) -> Judged:
    """What the runs of its panel say to a claim."""
    own = [each for each in panels if (each.task, each.model) == (claim.task, claim.model)]
    if len({each.title for each in own}) == 1:  # they differ in what some runs were asked later
        most = max(each.runs for each in own)
        own = [each for each in own if each.runs == most]
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
