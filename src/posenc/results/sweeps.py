"""The folder of a sweep: what was planned, what became of each job, and who is at work on it.

outputs/sweeps/<time>/
    plan.json     the command, and every job with its run folder, where that is known beforehand
    jobs.jsonl    a line for every job that ended
    .lock         held by the process that conducts the sweep
    .busy         held by every process that is within a job
"""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from posenc.results.disk import replacing

Entry = dict[str, Any]
"""Of a job: its number `job`, its `overrides`, its `label`, which is those in which it differs from
the others; of a planned one its `folder`, its `state` (todo, done, or error) and the `reason`;
of one that ended its `end`, the `error` if any, or the `folder`, its file of `rows`, `seconds`."""

ELSEWHERE = "going on elsewhere"
"""The end of a job whose run another process is at."""

LISTED = 20
"""Jobs that are named one by one; of more, only the number is told."""


def because(label: str, reason: str | None) -> str:
    """A job and why it has no result, which may name the same setting."""
    if not reason or reason.startswith(f"{label}: "):
        return reason or label
    return f"{label}: {reason}"


class SweepFolder:
    """Written by a conductor and by jobs in processes of their own, perhaps on other machines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: TextIO | None = None
        self._made: list[Path] = []

    def begin(self, **plan: Any) -> None:
        """Holds the folder as its conductor, and writes the plan, to which `jobs` may be added."""
        self._made = [each for each in (self.path, *self.path.parents) if not each.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = (self.path / ".lock").open("w")
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        self._write({**plan, "jobs": []})

    def plan_jobs(self, jobs: Sequence[Entry]) -> None:
        """Adds the jobs to the plan, and numbers them."""
        self._write(self.plan() | {"jobs": [{"job": n, **job} for n, job in enumerate(jobs)]})

    def _write(self, plan: dict[str, Any]) -> None:
        with replacing(self.path / "plan.json") as unfinished:
            unfinished.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")

    def end(self) -> None:
        """Lets go of the folder, and leaves none of it where no job was planned or ended."""
        if self._lock is None:
            return
        self._lock.close()
        if not self.plan()["jobs"] and not self.ended():
            with suppress(OSError):  # another sweep may have begun in the same folder
                for file in self.path.iterdir():
                    file.unlink()
                for folder in self._made:
                    folder.rmdir()

    def plan(self) -> dict[str, Any]:
        """What `begin` wrote, or nothing."""
        path = self.path / "plan.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}

    def add(self, entry: Entry) -> None:
        """Appends what became of a job."""
        with (self.path / "jobs.jsonl").open("a", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)  # several machines may append to one file
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def ended(self) -> list[Entry]:
        """What became of the jobs that ended, in that order; not a line that a crash cut short."""
        path = self.path / "jobs.jsonl"
        if not path.exists():
            return []
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Inside, this process is within a job, which a crash ends, too."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".busy").open("a+") as file:
            fcntl.lockf(file, fcntl.LOCK_SH)
            yield

    def anyone_busy(self) -> bool:
        """Whether another process is within a job."""
        if not (self.path / ".busy").exists():
            return False
        with (self.path / ".busy").open("a+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
            return False
