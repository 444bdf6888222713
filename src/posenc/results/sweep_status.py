"""How far sweeps are, from what they planned, what became of their jobs, and their runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from posenc.results.progress import Step
from posenc.results.status import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOCK,
    LOST,
    NOT_RUN,
    RUNNING,
    STATES,
    WAITING,
    Run,
    find,
    is_held,
    named,
    read_run,
)
from posenc.results.sweeps import ELSEWHERE, Entry, SweepFolder

Key = Path | tuple[str, ...]
"""Tells whether two jobs are of the same run: its folder, or the overrides where there is none."""


class Job(NamedTuple):
    """A job of a sweep and what became of it."""

    overrides: tuple[str, ...]
    label: str
    folder: Path | None
    """That its run has or would have; None where its settings make no run."""
    run: Run | None
    """None where there is none yet, or where it speaks for another job."""
    state: str
    reason: str | None
    seconds: float | None
    """What it took, once it has finished."""
    planned: bool
    """Not so where a sweeper chooses each job by how earlier ones ended."""


@dataclass(frozen=True)
class Sweep:
    """A sweep and its jobs; without any where its files cannot be read."""

    folder: Path
    alive: bool
    """Whether its conductor is at work."""
    command: str = ""
    host: str | None = None
    jobs: tuple[Job, ...] = ()
    reason: str | None = None
    """Why it cannot be read."""

    @property
    def counts(self) -> dict[str, int]:
        """State -> number of jobs, in the order of STATES."""
        return counted(job.state for job in self.jobs)

    @property
    def seconds_left(self) -> float | None:
        """If the rest goes on as it went so far; None before a first job has finished,
        and where nothing is planned beforehand."""
        took = [job.seconds for job in self.jobs if job.seconds is not None]
        running = [job.run.step for job in self.jobs if job.state == RUNNING and job.run]
        rest = self.counts.get(WAITING, 0) + sum(1 - _share(step) for step in running)
        if not took or not rest or not self.alive:
            return None
        return mean(took) * rest / max(1, len(running))


class Picture(NamedTuple):
    """All runs, those to come too, and the sweeps that are worth a look, the latest last."""

    runs: list[Run]
    sweeps: list[Sweep]


def counted(states: Iterable[str]) -> dict[str, int]:
    """State -> how many, in the order of STATES."""
    numbers = Counter(states)
    return {state: numbers[state] for state in STATES if numbers[state]}


def look(places: Iterable[Path]) -> Picture:
    """What there is below some folders at this moment.

    A sweep is shown if it goes on, or if it lacks runs that no later one has planned again. Raises
    ConfigError for a folder that does not exist.
    """
    run_folders, sweep_folders = find(places)
    runs: dict[Key, Run] = {
        folder: run for folder in run_folders if (run := read_run(folder)) is not None
    }
    sweeps: list[Sweep] = []
    planned: set[Key] = set()
    for folder in reversed(sweep_folders):
        sweep = read_sweep(folder, runs)
        lacking = {_key(job) for job in sweep.jobs if job.folder and job.state != FINISHED}
        if sweep.alive or sweep.reason or lacking - planned:
            sweeps.insert(0, sweep)
        planned |= {_key(job) for job in sweep.jobs}
    return Picture(_with_those_to_come(runs, sweeps), sweeps)


def read_sweep(path: Path, runs: Mapping[Key, Run]) -> Sweep:
    """`runs` are those that are known; others are read."""
    folder, alive = SweepFolder(path), bool(is_held(path / LOCK))
    try:
        plan, lines = folder.plan(), {entry["job"]: entry for entry in folder.ended()}
        began = datetime.fromisoformat(plan["started"]).timestamp()
        entries = {entry["job"]: {**entry, "planned": True} for entry in plan["jobs"]}
        for number, line in lines.items():
            entries[number] = entries.get(number, {}) | line
        jobs = _jobs(entries, runs, alive=alive, began=began)
        return Sweep(path, alive, str(plan["command"]), plan["host"], tuple(jobs))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return Sweep(path, alive, reason=f"cannot be read ({type(error).__name__}: {error})")


def _jobs(
    entries: Mapping[int, Entry], runs: Mapping[Key, Run], *, alive: bool, began: float
) -> Iterator[Job]:
    """From what is known of each job, in their order, those that succeeded first.

    Jobs that ask several things of one run share its folder, which speaks for one of them.
    """
    spoken_for: set[Path] = set()
    for _, entry in sorted(entries.items(), key=lambda item: (not _succeeded(item[1]), item[0])):
        folder = Path(entry["folder"]) if entry.get("folder") else None
        run = None
        if folder is not None and folder not in spoken_for:
            run = runs.get(folder) or read_run(folder)
            spoken_for.add(folder)
        state = _state(entry, run, alive=alive, began=began)
        yield Job(
            overrides=tuple(entry["overrides"]),
            label=entry.get("label") or " ".join(entry["overrides"]),
            folder=folder,
            run=run,
            state=state,
            reason=_reason(entry, run) if state == FAILED else None,
            seconds=entry.get("seconds") if state == FINISHED else None,
            planned=entry.get("planned", False),
        )


def _reason(entry: Entry, run: Run | None) -> str | None:
    if run is not None and entry.get("end") == ELSEWHERE:
        return run.reason
    return entry.get("error") or entry.get("reason")


def _succeeded(entry: Entry) -> bool:
    return entry.get("state") == "done" or entry.get("error", "") is None


def _state(entry: Entry, run: Run | None, *, alive: bool, began: float) -> str:
    """The run of a job without success may have been taken up again since, by another sweep."""
    if _succeeded(entry):
        return FINISHED
    if run is not None and (run.state == RUNNING or entry.get("end") == ELSEWHERE):
        return run.state
    if run is not None and run.state == FINISHED and run.changed >= began:
        return FINISHED
    if run is not None and run.state == LOST and "error" not in entry:
        return LOST
    if "error" in entry:
        return INTERRUPTED if entry["error"] == "interrupted" else FAILED
    if entry["state"] == "error":
        return FAILED
    return WAITING if alive else NOT_RUN


def _with_those_to_come(runs: Mapping[Key, Run], sweeps: Iterable[Sweep]) -> list[Run]:
    """What waits to be tried again counts as waiting; every run counts once."""
    found = dict(runs)
    for sweep in sweeps:
        for job in sweep.jobs:
            known = found.get(_key(job))
            if (
                known is None
                and job.planned
                and job.state in (WAITING, NOT_RUN, FAILED, INTERRUPTED)
            ):
                name = named(job.folder) if job.folder else job.label
                found[_key(job)] = Run(name, job.folder, job.state, job.reason)
            elif known and job.state == WAITING and known.state not in (FINISHED, RUNNING):
                found[_key(job)] = replace(known, state=WAITING)
    return list(found.values())


def _key(job: Job) -> Key:
    return job.folder or job.overrides


def _share(step: Step | None) -> float:
    """Of its work that a running job has done; what follows training takes little."""
    if step is None:
        return 0.0
    return step.share if step.stage == "training" else 1.0
