"""Python in a process of its own: how long it takes, and how much memory."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from posenc.choosing import PROJECT
from posenc.errors import RunFailed

TRAIN = str(PROJECT / "train.py")
WATCHER = """
import os, sys, time
started = time.perf_counter()
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(time.perf_counter() - started, used.ru_maxrss, os.waitstatus_to_exitcode(status))
"""
"""A small process between this one and the measured one: Linux lets the peak of a new process begin
with the size of the one that started it."""


class Ended(NamedTuple):
    """A process from start to end: seconds, peak resident memory in MB of 2^20 bytes, its words."""

    seconds: float
    megabytes: float
    output: str
    errors: str


def run(*arguments: str, code: int = 0, environment: Mapping[str, str] | None = None) -> Ended:
    """`python` with these arguments, and variables added to the environment of this process.

    Raises RunFailed, with the last line of its errors, unless it ends with this exit `code`.
    """
    ended = subprocess.run(
        [sys.executable, "-c", WATCHER, sys.executable, *arguments],
        env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    output, _, told = ended.stdout.rstrip().rpartition("\n")
    seconds, kibibytes, found = told.split()
    if int(found) != code:
        (last,) = ended.stderr.strip().splitlines()[-1:] or [f"exit code {found}"]
        raise RunFailed(last)
    return Ended(float(seconds), int(kibibytes) / 1024, output, ended.stderr)


def call(
    function: Callable[[], None],
    *arguments: str,
    code: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """`run` of a function of a module, which finds the arguments in `sys.argv`."""
    name = function.__name__
    source = f"import sys; sys.argv = sys.argv[1:]; from {function.__module__} import {name}"
    return run("-c", f"{source}; {name}()", *arguments, code=code, environment=environment)


def train(
    outputs: str | Path, *settings: str, environment: Mapping[str, str] | None = None
) -> Ended:
    """`run` of train.py, with its runs below `outputs`."""
    return run(TRAIN, *settings, f"outputs={outputs}", environment=environment)
