"""What state a run is in, from its folder alone."""

import fcntl
import os
import platform
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.errors import ConfigError
from posenc.results.labels import duration
from posenc.results.progress import Step, last_sign
from posenc.results.records import SILENT, RunFolder

RUN, PLAN, LOCK = "run.json", "plan.json", ".lock"
"""A folder with the first is one of a run, with the second one of a sweep."""

FINISHED, RUNNING, WAITING = "finished", "running", "waiting"
FAILED, INTERRUPTED, LOST = "failed", "interrupted", "lost"
NOT_RUN, UNREADABLE = "not run", "unreadable"

STATES = (FINISHED, RUNNING, WAITING, FAILED, INTERRUPTED, LOST, NOT_RUN, UNREADABLE)
"""In the order in which they are counted. Lost is what says running while nobody is at work on it;
waiting and not run are jobs of sweeps that go on, and that do not."""

TYPE_AT = 20 if sys.platform == "darwin" else 0
"""Where the type of a lock stands in the `struct flock` of a system of 64 bits."""


@dataclass(frozen=True)
class Run:
    """One run, or one that is still to be made."""

    name: str
    """Task, setup, and seed with fingerprint: the end of its path."""
    folder: Path | None
    """None of a job whose settings make no run, or a run that is not known."""
    state: str
    """One of STATES."""
    reason: str | None = None
    """The error of a failure; how long a lost run has been silent; what is wrong with a file."""
    host: str | None = None
    step: Step | None = None
    """Of one that is running, or was when it was lost or interrupted."""
    changed: float = 0.0
    """When run.json was last written, in seconds since 1970."""
    speed: float | None = None
    """Training steps a second: their mean, of one that is running or finished."""


def named(folder: Path) -> str:
    """How the run of a folder is called."""
    return "/".join(folder.parts[-3:])


def read_run(folder: Path) -> Run | None:
    """The run of a folder; None where there is none, or none any more. Reads each file once."""
    name = named(folder)
    try:
        changed = (folder / RUN).stat().st_mtime
        kept = RunFolder(folder).status()
    except FileNotFoundError:
        return None
    except (ConfigError, OSError) as error:
        return Run(name, folder, UNREADABLE, str(error).replace(f"{folder}/", ""))
    state, host = kept.get("status"), str(kept.get("host") or "") or None
    if state == FINISHED:
        return Run(name, folder, FINISHED, None, host, changed=changed, speed=_mean_speed(kept))
    if state == RUNNING:
        step, silent = Step.read(folder), max(0.0, time.time() - last_sign(folder, RUN, LOCK))
        if _is_alive(folder, host, silent):
            speed = step and step.steps_per_second
            return Run(name, folder, RUNNING, None, host, step, changed, speed)
        return Run(name, folder, LOST, f"silent for {duration(silent)}", host, step, changed)
    if state in (FAILED, INTERRUPTED):
        lines = str(kept.get("traceback") or "").strip().splitlines()
        step = Step.read(folder) if state == INTERRUPTED else None
        return Run(name, folder, state, lines[-1] if lines else None, host, step, changed)
    return Run(name, folder, UNREADABLE, f"{RUN} says status={state}") if kept else None


def _mean_speed(kept: Mapping[str, Any]) -> float | None:
    """Of what the process that finished a run trained; None where that is not told."""
    try:
        return float(kept["trained_steps"] / kept["train_seconds"]) or None
    except (KeyError, TypeError, ZeroDivisionError):
        return None


def _is_alive(folder: Path, host: str | None, silent: float) -> bool:
    """A lock of another machine may be invisible here; then a sign of life has to do."""
    held = is_held(folder / LOCK)
    if held is None or (not held and host != platform.node()):
        return silent <= SILENT
    return held


def is_held(lock: Path) -> bool | None:
    """Whether another process holds a lock; None where the file system does not tell.

    It asks and does not try, since a lock taken for a moment would turn away the run that wants it.
    Any lock on the file that this process holds itself is lost.
    """
    asked = bytearray(32)
    struct.pack_into("h", asked, TYPE_AT, fcntl.F_RDLCK)
    try:
        with lock.open("rb") as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, bytes(asked))
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return bool(struct.unpack_from("h", answer, TYPE_AT)[0] != fcntl.F_UNLCK)


def find(places: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The folders of runs and those of sweeps that lie below some places, sorted.

    Raises ConfigError for a place that is no folder.
    """
    found: dict[str, set[Path]] = {RUN: set(), PLAN: set()}
    for place in places:
        if not place.is_dir():
            raise ConfigError(f"{place}: there is no such folder; name one that holds runs")
        for marker, folder in _marked(os.path.realpath(place)):
            found[marker].add(Path(folder))
    return sorted(found[RUN]), sorted(found[PLAN])


def _marked(folder: str) -> Iterator[tuple[str, str]]:
    """Into the folders of runs and sweeps it does not look."""
    try:
        with os.scandir(folder) as entries:
            inside = list(entries)
    except FileNotFoundError:  # deleted meanwhile
        return
    names = {entry.name for entry in inside}
    for marker in (RUN, PLAN):
        if marker in names:
            yield marker, folder
            return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            yield from _marked(entry.path)
