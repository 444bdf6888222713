"""How runs and sweeps stand, for a terminal and for a program."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.measure import Measurement
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

BETWEEN = 2
"""Columns of a terminal between two of the table, and at both of its edges together."""
BAR, ROOM, LEAST = 12, 32, 20
"""Columns of a progress bar, of a bar with its figures or a reason, and of these in a narrow
terminal."""


def drawn(picture: Picture, *, everything: bool = False, bars: bool = True) -> RenderableType:
    """Counts, sweeps, and a table of the runs that are not finished, or of `everything`."""
    shown, more = _listed(picture.runs, everything=everything)
    parts: list[RenderableType] = [_counts(picture.runs)]
    for sweep in picture.sweeps:
        parts += ["", *_sweep(sweep)]
    if shown:
        parts.append(_Table(shown, _names(shown, picture.runs), bars))
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
        "steps_per_second": run.speed,
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


def _names(shown: Sequence[Run], runs: Sequence[Run]) -> list[str]:
    """Of the runs that are shown; with the way to each, unless all `runs` are of one place."""
    places = {run.folder.parents[min(2, len(run.folder.parts) - 2)] for run in runs if run.folder}
    common = os.path.commonpath(places) if places else ""
    return [
        str(run.folder.relative_to(common)) if run.folder and len(places) > 1 else run.name
        for run in shown
    ]


class _Table(NamedTuple):
    """The runs that are shown. A name that is too long for the terminal is broken at slashes."""

    runs: Sequence[Run]
    names: Sequence[str]
    bars: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Where names are broken there is no room for bars and hosts, either."""
        columns = {head: cells for head, cells in self._columns() if any(cells)}
        progress = [_progress(run, bar=self.bars and run.state == RUNNING) for run in self.runs]
        needed = max(Measurement.get(console, options, each).maximum for each in progress)
        needed = min(needed, ROOM) if self.bars else needed
        names = list(self.names)
        if max(map(cell_len, names)) + needed > _rest(columns, options.max_width):
            columns.pop("host", None)
            room = _rest(columns, options.max_width) - min(needed, LEAST)
            names = [_broken(name, room) for name in names]
            progress = [_progress(run, bar=False) for run in self.runs]
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("run", no_wrap=True)
        for head in columns:
            justify: JustifyMethod = "right" if head in ("steps/s", "left") else "left"
            table.add_column(head, no_wrap=True, justify=justify)
        table.add_column("progress", overflow="fold", max_width=ROOM if self.bars else None)
        for name, *cells, last in zip(names, *columns.values(), progress, strict=True):
            table.add_row(
                Text(name), *[Text(each or MISSING, STYLES.get(each, "")) for each in cells], last
            )
        yield table

    def _columns(self) -> Iterator[tuple[str, list[str]]]:
        """Heads and cells; hosts are told where there are several."""
        left, hosts = map(_left, self.runs), [run.host or "" for run in self.runs]
        yield "state", [run.state for run in self.runs]
        yield "steps/s", [f"{run.speed:.3g}" if run.speed else "" for run in self.runs]
        yield "left", ["" if each is None else duration(each) for each in left]
        yield "host", hosts if len(set(filter(None, hosts))) > 1 else []


def _rest(columns: Mapping[str, Sequence[str]], width: int) -> int:
    """What two columns more have of the width of a terminal."""
    taken = sum(max(map(cell_len, (head, *cells))) for head, cells in columns.items())
    return width - taken - BETWEEN * (2 + len(columns))


def _broken(name: str, room: int) -> str:
    """In lines that end at slashes or spaces, each as long as there is room for."""
    lines = [""]
    for part in re.findall("[^/ ]+[/ ]?", name):
        if len(lines[-1]) + len(part) > room and lines[-1].strip():
            lines.append("  ")
        lines[-1] += part
    return "\n".join(lines)


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
