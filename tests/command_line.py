"""The scripts as a user starts them: in this process, which is quick, or in one of its own."""

import csv
import json
import logging
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from posenc.choosing import PROJECT

TINY = (
    "model.width=16", "model.heads=2", "data.batch_size=8", "trainer.max_steps=6",
    "eval.samples=16", "length.test=24", "trainer.enable_progress_bar=false", "logger=none",
)  # fmt: skip


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments: str, script: str = "train.py") -> Ended:
    """Runs a script of the project, and leaves logging and environment as they were."""
    out, err, code = StringIO(), StringIO(), 0
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with (
        patch.object(sys, "argv", [script, *arguments]),
        patch.dict(os.environ),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            runpy.run_path(str(PROJECT / script), run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    return Ended(code, out.getvalue(), err.getvalue())


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """train.py in a process of its own, with its output in `cwd`/output; killed at the end."""
    command = [sys.executable, str(PROJECT / "train.py"), *arguments]
    with (cwd / "output").open("w") as output:
        process = subprocess.Popen(
            command, cwd=cwd, stdout=output, stderr=output, text=True, start_new_session=True
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(true: Callable[[], Any], process: subprocess.Popen[str]) -> None:
    """Returns as soon as `true()` holds, which must be while the process is alive."""
    while not true():
        assert process.poll() is None, "the process ended first"
        time.sleep(0.003)


def runs(outputs: Path) -> list[Path]:
    """The run folders below, sorted."""
    return sorted(path.parent for path in outputs.rglob("run.json"))


def only_run(outputs: Path) -> Path:
    """The one run folder below."""
    (folder,) = runs(outputs)
    return folder


def status(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
