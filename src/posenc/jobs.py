"""One job of a sweep, in whatever process a launcher runs it."""

import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from types import FrameType
from typing import NoReturn

from hydra.conf import HydraConf

from posenc import sweep
from posenc.errors import Busy, Interrupted, RunFailed
from posenc.explaining import explain
from posenc.results.labels import duration
from posenc.results.outcome import Result
from posenc.results.sweeps import Entry, SweepFolder

_stopped = False
"""Whether a signal has ended a job of this process, after which it begins no other."""


class Stopped(RunFailed):
    """A signal ended the job, or came before it began."""


def run_job(own: HydraConf, do: Callable[[], Result]) -> Result:
    """Does a job, and tells what became of it in the folder of its sweep and on stderr.

    `own` is the configuration of Hydra. In a process that does not conduct the sweep a signal ends
    the job and not the process, whose death a launcher would take for a fault of all.
    """
    global _stopped
    if _stopped:
        raise Stopped("not begun: a signal stopped the sweep")
    if not sweep.conducting():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the conductor decides
        signal.signal(signal.SIGTERM, _stop)
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.CRITICAL)  # the rest is in train.log
    folder, started = SweepFolder(Path(own.sweep.dir)), time.perf_counter()
    entry: Entry = {"job": own.job.num, "overrides": list(own.overrides.task)}

    def tell(said: str, **details: str | None) -> None:
        seconds = round(time.perf_counter() - started, 2)
        _tell(folder, entry | details | {"seconds": seconds}, said)

    try:
        with folder.busy():
            result = do()
    except Interrupted as stop:
        tell("interrupted", end="interrupted", error="interrupted")
        if sweep.conducting():
            raise
        _stopped = True
        raise Stopped(f"stopped by signal {int(str(stop.code)) - 128}") from None
    except Exception as error:
        end = "going on elsewhere" if isinstance(error, Busy) else "failed"
        tell(explain(error), end=end, error=explain(error))
        raise
    tell(
        _in_short(result),
        end="finished",
        error=None,
        folder=str(result.folder.path),
        rows=result.file,
    )
    return result


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    global _stopped
    _stopped = True
    raise Interrupted(128 + number)


def _in_short(result: Result) -> str:
    """Two or three figures."""
    figures = {"in range": result.in_range, "score": result.score}
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if value is not None]
    fit = [] if result.fitted else ["not fitted"]
    return ", ".join([*shown, f"holds to {result.holds_to}", *fit])


def _tell(folder: SweepFolder, entry: Entry, said: str) -> None:
    """Adds to jobs.jsonl, and prints how far the sweep is and how long the rest may take."""
    plan = folder.plan()
    planned = {each["job"]: each for each in plan["jobs"]}
    common = set(map(str.lower, plan["common"]))  # which a sweeper may have written False for false
    proposed = [each for each in entry["overrides"] if each.lower() not in common]
    label = planned.get(entry["job"], {}).get("label", " ".join(proposed))
    ended = folder.add(entry | {"label": label})
    todo = sum(each["state"] == "todo" for each in planned.values())
    place = f"{len(ended)}/{todo}" if todo else f"{len(ended)}"
    rest = (todo - len(ended)) * mean(each["seconds"] for each in ended) / plan["at_a_time"]
    left = f", about {duration(rest)} left" if rest > 0 else ""
    took = f"{duration(entry['seconds'])}{left}"
    print(f"[{place}] {label}: {said}; {took}", file=sys.stderr, flush=True)
