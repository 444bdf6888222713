"""How far a run is while it goes on: a small file in its folder that vanishes when it ends, and
stays where a signal stopped it.

progress.json
    {"stage": "training", "step": 150, "of": 2000, "steps_per_second": 61.3}
    {"stage": "evaluating", "step": 3, "of": 10, "length": 20}

Its modification time is the last sign of life.
"""

import json
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from posenc.errors import ConfigError
from posenc.results.run_json import read_status

logger = logging.getLogger(__name__)

NAME = "progress.json"
EVERY = 1.0
"""Seconds between two writes, unless the stage is over."""


class Progress:
    """Tells, in a run folder, how far one stage of a run is. That it cannot ends no run."""

    def __init__(self, folder: Path, stage: str, *, of: int) -> None:
        self._path = folder / NAME
        self._stage = stage
        self._of = of
        self._done = 0
        self._due = -float("inf")
        self._complained = False

    def show(self, step: int, **more: Any) -> None:
        """Keeps that `step` of the steps are done, and what else there is to say."""
        now = time.monotonic()
        if now < self._due and step < self._of:
            return
        self._due = now + EVERY
        state = {"stage": self._stage, "step": step, "of": self._of, **more}
        try:
            # Renamed, so that nobody reads half of it; not synced: after a crash it is of no use.
            unfinished = _unfinished(self._path)
            unfinished.write_text(json.dumps(state) + "\n", encoding="utf-8")
            unfinished.replace(self._path)
        except OSError as error:
            if not self._complained:
                logger.warning("scripts/status.py cannot see how far this run is: %s", error)
            self._complained = True

    def each(self, lengths: Iterable[int]) -> Iterator[int]:
        """The lengths, of which each is a step that begins when it is asked for."""
        for length in lengths:
            self.show(self._done, length=length)
            yield length
            self._done += 1


def last_sign(folder: Path, *others: str) -> float:
    """When a run last gave a sign of life, by this file or by `others`, in seconds since 1970."""
    signs = [0.0]
    for name in (NAME, *others):
        with suppress(OSError):
            signs.append((folder / name).stat().st_mtime)
    return max(signs)


def forget(folder: Path) -> None:
    """Takes away what a run told of its progress, unless it was interrupted and will go on."""
    with suppress(ConfigError):  # told by whoever needs run.json
        if read_status(folder / "run.json").get("status") == "interrupted":
            return
    for path in (folder / NAME, _unfinished(folder / NAME)):
        with suppress(OSError):
            path.unlink()


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.unfinished")


class Step(NamedTuple):
    """What `Progress` wrote last: `step` of the steps of a stage were done."""

    stage: str
    step: int
    of: int
    steps_per_second: float | None = None
    """Mean since this process took up the run; None before its first step, and in other stages."""

    @classmethod
    def read(cls, folder: Path) -> "Step | None":
        """None where nothing is told, or nothing that can be read."""
        try:
            told = json.loads((folder / NAME).read_text(encoding="utf-8"))
            speed = told.get("steps_per_second")
            found = cls(str(told["stage"]), int(told["step"]), int(told["of"]), speed)
            return found if found.of > 0 and (speed is None or float(speed) > 0) else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    @property
    def share(self) -> float:
        """Of the stage that is done, from 0 to 1."""
        return min(1.0, max(0.0, self.step / self.of))

    @property
    def seconds_left(self) -> float | None:
        """Of the stage; None where it does not tell its speed."""
        if self.steps_per_second is None:
            return None
        return max(0, self.of - self.step) / self.steps_per_second
