"""A sweep: what it plans, which of that is done already, and what becomes of every job.

Hydra's launchers run the jobs, in this process or in others; nothing here starts one.
"""

import multiprocessing
import os
import platform
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from hydra.core.utils import JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from posenc import launching, tuning
from posenc.errors import SIGNALS, ConfigError, Interrupted, RunFailed
from posenc.explaining import explain
from posenc.planning import Job, plan
from posenc.results.labels import several
from posenc.results.sweeps import ELSEWHERE, LISTED, SweepFolder, because
from posenc.telling import Teller

MANY = 20
"""Runs whose planning takes long enough to be told of."""

_conducted: SweepFolder | None = None
"""The sweep that this process conducts."""
_teller: Teller | None = None
_stopped: int | None = None
"""The signal that stopped this process, in whose sweep nothing is to begin any more."""


class Conductor(Callback):
    """Tells the process that conducts a sweep from those that only run its jobs."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Runs in the conductor alone, before its sweeper. Hydra takes no error of a callback for
        an end of the program, only what ends Python."""
        try:
            self._begin(config)
        except (ConfigError, OmegaConfBaseException) as error:
            reason = explain(error)
        except OSError as error:
            reason = (
                f"outputs: {error.filename} cannot be made or written ({error.strerror}); "
                "set outputs= to a folder to write in"
            )
        else:
            return
        print(f"error: {reason}", file=sys.stderr)
        raise SystemExit(2)

    def _begin(self, config: DictConfig) -> None:
        global _conducted, _teller
        launching.check_launcher(config.launcher)
        trials = _trials_to_come(config)
        folder = SweepFolder(Path(config.hydra.sweep.dir))
        folder.begin(
            command=shlex.join(["python", *sys.argv]),
            host=platform.node(),
            started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            at_a_time=config.launcher.jobs,
            common=list(config.hydra.overrides.task),
            objectives=list(config.sweeper.get("objectives", [])),
            study=config.sweeper.get("study"),
            storage=config.sweeper.get("storage"),
            trials=trials,
        )
        _conducted, _teller = folder, Teller(folder)
        _teller.start()


@contextmanager
def conducted() -> Iterator[None]:
    """Inside, a signal first lets jobs in other processes save what they have; at the end of a
    sweep its summary is printed, however it ends."""
    global _conducted, _teller, _stopped
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    except ValueError:  # Optuna's, where no trial is left to be the best
        _summarise()
        _refuse_failures()
        raise
    except BaseException:
        _summarise()
        raise
    else:
        _summarise()
        _refuse_failures()
    finally:
        if _conducted is not None:
            _conducted.end()
        _conducted = _teller = _stopped = None
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Passes the signal on and waits until no job is left at work; a second one does not wait."""
    global _stopped
    first, _stopped = _stopped is None, number
    others = multiprocessing.active_children()
    if _conducted is not None and first and others:
        for other in others:
            if other.pid is not None:
                os.kill(other.pid, signal.SIGTERM)
        while _conducted.anyone_busy():
            time.sleep(0.05)
    raise Interrupted(128 + number)


def conduct(
    jobs: Sequence[Job],
    config: DictConfig,
    *,
    compose: Callable[[list[str]], DictConfig],
    launch: Callable[..., Sequence[Any]],
) -> list[Any]:
    """Launches the jobs whose run is not done yet; returns what Hydra's launcher does.

    Jobs of one run folder, which differ in what they ask of it, are launched one after the other.
    Raises ConfigError where no job can work, RunFailed where the launcher breaks off.
    """
    assert _conducted is not None
    if not jobs:
        raise ConfigError("-m: no run comes of this; give every key at least one value")
    if len(jobs) > MANY:
        print(f"{several(len(jobs))}: planning", file=sys.stderr, flush=True)
    rounds, others = plan(jobs, compose)
    todo = [entry for each in rounds for entry in each]
    done = sum(entry["state"] == "done" for entry in others)
    resumed = sum(entry["resumes"] for entry in todo)
    twice = len(jobs) - len(todo) - len(others)
    errors = [entry for entry in others if entry["state"] == "error"]
    parts = [f"{done} done already"] * (done > 0) + [f"{len(errors)} cannot work"] * bool(errors)
    parts += (
        [f"{len(todo)} to do, {min(len(todo), config.launcher.jobs)} at a time"] if todo else []
    )
    parts += [f"{resumed} of them from a checkpoint"] * (resumed > 0)
    parts += [f"{twice} named twice"] * (twice > 0)
    watch = "; scripts/status.py --watch shows how far they are" if todo else ""
    print(f"{several(len(jobs))}: {', '.join(parts)}{watch}", file=sys.stderr)
    if errors and not todo and not done:
        raise ConfigError(errors[0]["reason"])
    for entry in errors[:LISTED]:
        print(f"  cannot work  {because(entry['label'], entry['reason'])}", file=sys.stderr)
    _conducted.plan_jobs([*todo, *others])
    results: list[Any] = []
    for each in rounds:
        try:
            results += launch([job["overrides"] for job in each], initial_job_idx=len(results))
        except SystemExit as end:  # Ray's answer to a signal, which it takes for itself
            code = 128 + (_stopped or signal.SIGTERM)
            raise end if isinstance(end, Interrupted) else Interrupted(code) from None
        except Exception as error:  # not of a job, which tells its own
            if _stopped is not None:
                raise Interrupted(128 + _stopped) from None
            reason = f"{type(error).__name__}: {explain(error)}"
            raise RunFailed(f"the sweep broke off ({reason}); the same command goes on") from error
    if _stopped is not None:
        raise Interrupted(128 + _stopped)
    untold = sum(each.status is JobStatus.FAILED for each in results) - sum(
        entry["error"] is not None for entry in _conducted.ended()
    )
    if untold > 0:
        raise RunFailed(f"{untold} runs failed before they could tell why")
    return results


def _refuse_failures() -> None:
    """A sweeper may take a failed job for an answer; whoever reads the exit code may not."""
    if _conducted is None:
        return
    plan, ended = _conducted.plan(), _conducted.ended()
    impossible = sum(job["state"] == "error" for job in plan["jobs"])
    failed = sum(job["error"] is not None for job in ended)
    elsewhere = sum(job["end"] == ELSEWHERE for job in ended)
    total = max(len(plan["jobs"]), len(ended))
    again = "proposes others" if plan["study"] else "tries them again"
    told = []
    if elsewhere and elsewhere == failed:
        told.append(f"{several(elsewhere)} going on elsewhere; the same command sums up later")
    elif failed:
        told.append(f"{failed} of {total} runs failed; the same command {again}")
    if impossible:
        told.append(
            f"{impossible} of {total} runs cannot work; mend their settings, or leave them out"
        )
    if told:
        raise RunFailed("; ".join(told))


def conducting() -> bool:
    """Whether this process conducts the sweep of whose jobs it runs one."""
    return _conducted is not None


def _trials_to_come(config: DictConfig) -> int:
    """How many, where a study proposes them; says how far that is."""
    if "study" not in config.sweeper:
        return 0
    left, study, trials = tuning.begin_study(config), config.sweeper.study, config.sweeper.trials
    print(
        f"study {study}: {trials - left} of {trials} trials done already, {left} to do, "
        f"{config.launcher.jobs} at a time",
        file=sys.stderr,
    )
    return left


def _summarise() -> None:
    if _teller is not None:
        _teller.end()
    if _conducted is None:
        return
    planned = _conducted.plan()
    if planned["jobs"] or _conducted.ended():
        from posenc.results.sweep_table import print_sweep

        print_sweep(_conducted)
    if planned["study"]:
        for line in tuning.best(planned["study"], planned["storage"], planned["objectives"]):
            print(line)
