"""The memory that train.py takes above the import of its libraries."""

import json
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

from posenc.benchmarks.figures import Figure, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import TRAIN, Ended, call
from posenc.importing import to_stay

SETS = ()
STAGES = {
    "build": "the network is built",
    "fit": "it is trained",
    "score": "it is evaluated",
    "publish": "its pictures are drawn",
}
"""A function of posenc.run, and what is done when it returns."""
SMOKE = ("trainer.max_steps=10", "eval.samples=16", "length.test=25")


class Round(NamedTuple):
    """MB of one run, and of a process that imports the modules that the run had in the end."""

    peak: float
    stages: dict[str, float]
    """Peak until the end of each."""
    files: float
    """Resident pages of files in the end, which are code of libraries."""
    libraries: float
    library_files: float


def measure(plan: Plan) -> Iterator[Figure]:
    """Peaks of resident memory in fresh processes.

    A run of a tenth of the steps is weighed, too: memory must not grow with them.
    """
    own = SMOKE if plan.smoke else ()
    short = f"trainer.max_steps={max(1, plan.config(*own).trainer.max_steps // 10)}"
    settings = (*own, *plan.overrides)
    found = [_round(settings) for _ in range(plan.rounds)]
    tenth = [_run((*settings, short)).megabytes for _ in range(plan.rounds)]
    above = [each.peak - each.libraries for each in found]
    yield Figure("peak of train.py above importing its libraries", "MB", above, at_most=150)
    for name in found[0].stages:
        so_far = [each.stages[name] - each.libraries for each in found]
        yield Figure(f"the same until {name}", "MB", so_far)
    code = [each.files - each.library_files for each in found]
    yield Figure("of it, code of libraries that is read when first used", "MB", code)
    yield Figure("importing the libraries", "MB", [each.libraries for each in found])
    growth = ratios([each.peak for each in found], tenth)
    yield Figure("peak of train.py / with a tenth of the steps", "", growth, at_most=1.1)


def _run(settings: tuple[str, ...]) -> Ended:
    with TemporaryDirectory() as outputs:
        return call(staged, TRAIN, *settings, f"outputs={outputs}")


def _round(settings: tuple[str, ...]) -> Round:
    ended = _run(settings)
    told = json.loads(ended.output.splitlines()[-1])
    libraries = call(imported, *told["modules"])
    files = float(libraries.output)
    return Round(ended.megabytes, told["stages"], told["files"], libraries.megabytes, files)


def staged() -> None:
    """The script in `sys.argv`, then a line of JSON: what `Round` tells of it, and its modules."""
    with to_stay("posenc.run"):  # as train.py imports it
        from posenc import run as stages

    peaks: dict[str, float] = {}

    def watched(name: str) -> Callable[..., Any]:
        work = getattr(stages, name)

        def watching(*arguments: Any) -> Any:
            found = work(*arguments)
            peaks[STAGES[name]] = getrusage(RUSAGE_SELF).ru_maxrss / 1024
            return found

        return watching

    with ExitStack() as stack:
        for name in STAGES:
            stack.enter_context(patch.object(stages, name, watched(name)))
        runpy.run_path(sys.argv[0], run_name="__main__")
    own = {*sys.stdlib_module_names, "posenc", "__main__"}
    names = [name for name in sys.modules if name.partition(".")[0] not in own]
    print(json.dumps({"stages": peaks, "files": _files(), "modules": names}))


def imported() -> None:
    """Imports the modules in `sys.argv`, those that can be; prints the MB of pages of files."""
    for name in sys.argv[1:]:
        with suppress(ImportError):
            import_module(name)
    print(_files())


def _files() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[2])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
