"""How runs and sweeps stand, for a terminal and for a program."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from posenc.results.labels import MISSING, duration, several
from posenc.results.status import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOST,
    NOT_RUN,
    RUNNING,
    UNREADABLE,
    WAITING,
    Run,
)
from posenc.results.sweep_status import Picture, Sweep, counted

LISTED = (RUNNING, FAILED, LOST, UNREADABLE, INTERRUPTED, WAITING, NOT_RUN, FINISHED)
"""States in the order of the table: what one looks for comes first."""

STYLES = {
    RUNNING: "cyan", FINISHED: "green", FAILED: "red", LOST: "red", UNREADABLE: "red",
    INTERRUPTED: "yellow", NOT_RUN: "yellow",
}  # fmt: skip

MOST = 20
"""Runs of one state that are listed, unless all are asked for."""
FEW = 3
"""The same of those that have not begun, of which there is little to tell."""

BAR, ROOM = 12, 32
"""Columns of a progress bar, and of a bar with its figures or a reason."""


def drawn(picture: Picture, *, everything: bool = False, bars: bool = True) -> RenderableType:
    """Counts, sweeps, and a table of the runs that are not finished, or of `everything`."""
    shown, more = _listed(picture.runs, everything=everything)
    parts: list[RenderableType] = [_counts(picture.runs)]
    for sweep in picture.sweeps:
        parts += ["", *_sweep(sweep)]
    if shown:
        parts.append(_table(shown, bars=bars))
    parts += [Text(f"and {count} more {state}; --all lists them") for state, count in more.items()]
    return Group(*parts)


def as_data(picture: Picture, *, everything: bool = False) -> dict[str, Any]:
    """The same as plain containers, and no run left out for want of room."""
    listed = [run for run in picture.runs if everything or run.state != FINISHED]
    return {
        "counts": counted(run.state for run in picture.runs),
        "sweeps": [_sweep_data(sweep) for sweep in picture.sweeps],
        "runs": [_run_data(run) for run in listed],
    }


def _run_data(run: Run) -> dict[str, Any]:
    step = run.step
    return {
        "run": run.name,
        "folder": run.folder and str(run.folder),
        "state": run.state,
        "reason": run.reason,
        "host": run.host,
        "stage": step and step.stage,
        "step": step and step.step,
        "of": step and step.of,
        "steps_per_second": step and step.steps_per_second,
        "seconds_left": _left(run),
    }


def _sweep_data(sweep: Sweep) -> dict[str, Any]:
    return {
        "folder": str(sweep.folder),
        "alive": sweep.alive,
        "command": sweep.command,
        "host": sweep.host,
        "reason": sweep.reason,
        "counts": sweep.counts,
        "seconds_left": sweep.seconds_left,
    }


def _left(run: Run) -> float | None:
    return run.step.seconds_left if run.step and run.state == RUNNING else None


def _counts(runs: Sequence[Run]) -> Text:
    return _told(len(runs), counted(run.state for run in runs))


def _told(number: int, counts: dict[str, int]) -> Text:
    """12 runs: 5 finished, 2 running, 5 waiting."""
    parts = [
        Text(f"{count} {state}", style=STYLES.get(state, "")) for state, count in counts.items()
    ]
    head = Text(several(number), style="bold" if parts else "")
    return Text.assemble(head, ": " if parts else "", Text(", ").join(parts))


def _sweep(sweep: Sweep) -> Iterator[Text]:
    if sweep.reason:
        yield Text(f"sweep {sweep.folder.name}: {sweep.reason}", style="red")
        return
    where = f"on {sweep.host}" if sweep.alive else "has ended"
    head = Text(f"sweep {sweep.folder.name} {where}: ")
    left = sweep.seconds_left
    if left is not None:
        rest = f"; about {duration(left)} left"
    else:
        rest = "" if sweep.alive else "; the same command does the rest"
    yield Text.assemble(head, _told(len(sweep.jobs), sweep.counts), rest)
    yield Text(f"  {sweep.command}", style="dim")


def _listed(runs: Sequence[Run], *, everything: bool) -> tuple[list[Run], dict[str, int]]:
    """The runs of the table, and how many of each state there is no room for."""
    shown: list[Run] = []
    more: dict[str, int] = {}
    for state in LISTED if everything else LISTED[:-1]:
        own = [run for run in runs if run.state == state]
        room = len(own) if everything else FEW if state in (WAITING, NOT_RUN) else MOST
        shown += own[:room]
        if own[room:]:
            more[state] = len(own[room:])
    return shown, more


def _table(runs: Sequence[Run], *, bars: bool) -> Table:
    """Hosts are told where there are several; in a terminal names have room before reasons."""
    several = len({run.host for run in runs if run.host}) > 1
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("run", "state", "steps/s", "left", *["host"] * several):
        justify: JustifyMethod = "right" if name in ("steps/s", "left") else "left"
        table.add_column(name, justify=justify, overflow="fold")
    table.add_column("progress", overflow="fold", max_width=ROOM if bars else None)
    for run in runs:
        left, speed = _left(run), run.step.steps_per_second if run.step else None
        table.add_row(
            Text(run.name),
            Text(run.state, style=STYLES.get(run.state, "")),
            MISSING if speed is None or run.state != RUNNING else f"{speed:.3g}",
            MISSING if left is None else duration(left),
            *[Text(run.host or MISSING)] * several,
            _progress(run, bar=bars and run.state == RUNNING),
        )
    return table


def _progress(run: Run, *, bar: bool) -> RenderableType:
    """How far it is; why it is no farther."""
    step, parts = run.step, []
    if step is not None:
        stage = "" if step.stage == "training" else f"{step.stage} "
        parts.append(f"{stage}{step.step}/{step.of} {step.share:.0%}")
    if run.reason:
        parts.append(run.reason)
    text = Text(", ".join(parts))
    if not bar or step is None:
        return text
    grid = Table.grid(padding=(0, 1))
    grid.add_row(ProgressBar(total=step.of, completed=step.step, width=BAR), text)
    return grid
