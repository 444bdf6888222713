"""What a sweep came to: a table of its setups, and what failed or did not run."""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from rich import box
from rich.console import Console
from rich.table import Table

from posenc.errors import ConfigError
from posenc.results.labels import MISSING, several
from posenc.results.outcome import LESS_IS_BETTER, Result
from posenc.results.records import RunFolder
from posenc.results.sweeps import ELSEWHERE, LISTED, Entry, SweepFolder, because

ENDS = ("finished", "failed", "interrupted", ELSEWHERE, "not run")
"""How a job can end, in the order in which they are counted."""


def print_sweep(sweep: SweepFolder) -> None:
    """Prints a row for every setup, its seeds together, then every job without a result.

    Setups that a sweeper proposed stand with the best first, by the first of its objectives.
    """
    ended = {entry["job"]: entry for entry in sweep.ended()}
    plan = sweep.plan()
    planned = {entry["job"]: entry for entry in plan["jobs"]}
    jobs = [planned.get(job, {}) | ended.get(job, {}) for job in sorted(planned | ended)]
    ends = [_end(job, begun=job["job"] in ended) for job in jobs]
    results = [
        _result(job) if end == "finished" else None for job, end in zip(jobs, ends, strict=True)
    ]
    ends = [
        "failed" if end == "finished" and result is None else end
        for end, result in zip(ends, results, strict=True)
    ]
    setups: dict[str, list[Result | None]] = defaultdict(list)
    for job, result in zip(jobs, results, strict=True):
        setups[_setup(job)].append(result)
    if not planned:
        setups = _best_first(setups, plan["objectives"][0])
    print(flush=True)
    Console(highlight=False).print(_table(setups), crop=False)
    kinds = {end: ends.count(end) for end in sorted(set(ends), key=ENDS.index)}
    counts = ", ".join(f"{count} {end}" for end, count in kinds.items())
    print(f"{several(len(jobs))}: {counts}", file=sys.stderr)
    missing = [(job, end) for job, end in zip(jobs, ends, strict=True) if end != "finished"]
    for job, end in missing[:LISTED]:
        reason = job.get("error") or job.get("reason")
        told = because(job["label"], reason if reason != end else None)
        print(f"  {end}  {told}", file=sys.stderr)
    if "interrupted" in kinds:
        print("the same command does the rest", file=sys.stderr)
    if more := missing[LISTED:]:
        print(f"  and {len(more)} more; scripts/status.py lists them", file=sys.stderr)


def _end(job: Entry, *, begun: bool) -> str:
    if not begun:
        return {"done": "finished", "error": "failed"}.get(job["state"], "not run")
    return job["end"]


def _result(job: Entry) -> Result | None:
    """None where the rows were damaged or taken away since."""
    try:
        result = Result.read(RunFolder(Path(job["folder"])), job["rows"])
    except ConfigError:
        return None
    return result if result.rows else None


def _best_first(
    setups: dict[str, list[Result | None]], objective: str
) -> dict[str, list[Result | None]]:
    sign = 1 if objective in LESS_IS_BETTER else -1

    def place(setup: str) -> float:
        values = [getattr(result, objective) for result in setups[setup] if result is not None]
        return sign * values[0] if values and values[0] is not None else math.inf

    return {setup: setups[setup] for setup in sorted(setups, key=place)}


def _setup(job: Entry) -> str:
    """A job's label without its seed."""
    return " ".join(part for part in job["label"].split(" ") if not part.startswith("seed="))


def _table(setups: dict[str, list[Result | None]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", overflow="fold")  # and a narrow terminal breaks no other column
    for name in ("runs", "fitted", "in range", "score", "range", "holds to"):
        table.add_column(name, justify="right", no_wrap=True)
    for setup, results in setups.items():
        found = [result for result in results if result is not None]
        done = f"{len(found)}/{len(results)}"
        table.add_row(setup or "all", done, *_cells(found))
    return table


def _cells(results: Sequence[Result]) -> list[str]:
    """Scores are those of fitted runs, as elsewhere."""
    fitted = [result for result in results if result.fitted]
    in_range = [result.in_range for result in results if result.in_range is not None]
    scores = [result.score for result in fitted if result.score is not None]
    held = [result.holds_to for result in fitted]
    ends = sorted({min(held, default=0), max(held, default=0)})
    holds = "–".join(map(str, ends)) if ends != [0] else MISSING
    return [
        f"{len(fitted)}/{len(results)}",
        _number(mean(in_range) if in_range else None),
        _number(mean(scores) if scores else None),
        f"{min(scores):.3f}–{max(scores):.3f}" if len(scores) > 1 else MISSING,
        holds,
    ]


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"
