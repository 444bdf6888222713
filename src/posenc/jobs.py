"""One job of a sweep, in whatever process a launcher runs it."""

import logging
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from hydra.conf import HydraConf

from posenc import sweep
from posenc.errors import Busy, Interrupted, RunFailed
from posenc.explaining import explain
from posenc.results.labels import MISSING
from posenc.results.outcome import Result
from posenc.results.sweeps import ELSEWHERE, Entry, SweepFolder
from posenc.telling import short

_at_work = False
_stopped = False
"""Whether a signal has ended a job of this process, after which it begins no other."""


class Stopped(RunFailed):
    """A signal ended the job, or came before it began."""


def run_job(own: HydraConf, do: Callable[[], Result]) -> Result:
    """Does a job, and tells what became of it in the folder of its sweep.

    `own` is the configuration of Hydra. In a process that does not conduct the sweep a signal ends
    the job and not the process, whose death a launcher would take for a fault of all.
    """
    global _at_work, _stopped
    if _stopped:
        raise Stopped("not begun: a signal stopped the sweep")
    if not sweep.conducting():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the conductor decides
        signal.signal(signal.SIGTERM, _stop)
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.CRITICAL)  # the rest is in train.log
    folder, started = SweepFolder(Path(own.sweep.dir)), time.perf_counter()
    entry: Entry = {"job": own.job.num, "overrides": list(own.overrides.task)}
    entry["label"] = short(_label(folder, entry))

    def tell(end: str, said: str, **details: str | None) -> None:
        seconds = round(time.perf_counter() - started, 2)
        try:
            folder.add({**entry, "end": end, "said": said, "seconds": seconds, **details})
        except OSError as error:
            print(
                f"{entry['label']}: {said} (the sweep keeps no word of it: {error})",
                file=sys.stderr,
            )

    try:
        with folder.busy():
            _at_work = True
            try:
                result = do()
            finally:
                _at_work = False
    except Interrupted as stop:
        tell("interrupted", "interrupted", error="interrupted")
        if sweep.conducting():
            raise
        _stopped = True
        raise Stopped(f"stopped by signal {int(str(stop.code)) - 128}") from None
    except Exception as error:
        end = ELSEWHERE if isinstance(error, Busy) else "failed"
        tell(end, end if end == ELSEWHERE else explain(error), error=explain(error))
        raise
    folder_of_run = str(result.folder.path)
    tell("finished", _in_short(result), error=None, folder=folder_of_run, rows=result.file)
    return result


def _stop(number: int, frame: FrameType | None) -> None:
    """Between two jobs there is nothing to end, and whatever is under way must not be torn."""
    global _stopped
    _stopped = True
    if _at_work:
        raise Interrupted(128 + number)


def _in_short(result: Result) -> str:
    """Two or three figures."""
    figures = {"in range": result.in_range, "score": result.score}
    shown = [f"{name} {value:.3f}" for name, value in figures.items() if value is not None]
    fit = [] if result.fitted else ["not fitted"]
    return ", ".join([*shown, f"holds to {result.holds_to or MISSING}", *fit])


def _label(folder: SweepFolder, entry: Entry) -> str:
    """What the plan calls the job, or the overrides that are not those of the whole sweep."""
    plan = folder.plan()
    for job in plan["jobs"]:
        if job["job"] == entry["job"]:
            return str(job["label"])
    common = set(map(str.lower, plan["common"]))  # which a sweeper may have written False for false
    return " ".join(each for each in entry["overrides"] if each.lower() not in common)
