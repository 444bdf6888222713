"""However a run ends, its folder tells: by its status, its log, and what it was made with."""

import logging
import platform
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import posenc
from posenc.choosing import PROJECT
from posenc.errors import ConfigError, Interrupted, RunFailed
from posenc.results.disk import fault
from posenc.results.records import RunFolder

logger = logging.getLogger(__name__)


@contextmanager
def disk_faults_told(folder: RunFolder) -> Iterator[None]:
    """Inside, a disk that is full, or cannot be written for another reason, ends the run with one
    line.

    A thread that writes events to it says nothing: whoever hands it the next one is told.
    """
    usual = threading.excepthook

    def hook(ended: threading.ExceptHookArgs) -> None:
        if not fault(folder.path, ended.exc_value):
            usual(ended)

    threading.excepthook = hook
    try:
        yield
    except OSError as error:
        if (reason := fault(folder.path, error)) is None:
            raise
        raise RunFailed(reason) from error
    finally:
        threading.excepthook = usual


@contextmanager
def kept_log(path: Path) -> Iterator[None]:
    """Copies everything that is logged into the run folder."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        with suppress(OSError):  # of a full disk, which what is written next will meet
            handler.close()


@contextmanager
def kept_status(folder: RunFolder) -> Iterator[None]:
    """However the run ends, run.json says so, and train.log. A finished run stays finished.

    A terminal is shown the traceback of a failure unless its message tells the cause.
    """
    try:
        yield
    except Interrupted:
        _mark(folder, "interrupted")
        logger.warning("interrupted: the same command goes on from here (%s)", folder.path)
        raise
    except ConfigError:
        if folder.status().get("status") == "running":
            _mark(folder, "failed", traceback=traceback.format_exc())
        raise
    except (Exception, SystemExit) as error:
        _mark(folder, "failed", traceback=traceback.format_exc())
        if fault(folder.path, error):
            raise
        if isinstance(error, FloatingPointError):
            with (folder.path / "train.log").open("a", encoding="utf-8") as log:
                traceback.print_exc(file=log)
        else:
            logger.exception("the run failed")
        raise RunFailed(f"{type(error).__name__}: {error} (traceback in {folder.path})") from error


def _mark(folder: RunFolder, status: str, **details: Any) -> None:
    """Nothing is written on a full disk, which must not hide what went wrong first."""
    try:
        if folder.status().get("status") != "finished":
            folder.write_status(status=status, **details)
    except (ConfigError, OSError) as error:
        logger.error("run.json still says what it said before: %s", error)


def circumstances(threads: int) -> dict[str, Any]:
    """Where, when and with what a run is made."""
    git = ["git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""  # no git here
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "posenc": posenc.__version__,
        "commit": commit or None,
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "pytorch-lightning", "numpy")},
        "host": platform.node(),
        "threads": threads,
    }
