"""The time of train.py to its first step, against its imports alone.

Both leave without the end of Python, which takes apart what was imported for a second or so.
"""

import os
import runpy
import sys
from collections.abc import Callable, Iterator
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import TRAIN, call, run
from posenc.importing import to_stay

SETS = ()
LIBRARIES = "torch, pytorch_lightning, tensorboard"
LIGHT = {"--help": 0, "encoding=rpoe": 2}
"""Commands that need no network, and how they exit: the second is a misspelt name."""


def measure(plan: Plan) -> Iterator[Figure]:
    """Whole processes, from `python` on. Raises RunFailed where a light command imports torch."""
    for argument, code in LIGHT.items():
        call(without_torch, TRAIN, argument, code=code)
    first, libraries = "python train.py to its first step", f"importing {LIBRARIES}"
    works: dict[str, Callable[[], object]] = {first: partial(_first_step, plan), libraries: _import}
    for argument, code in LIGHT.items():
        works[f"python train.py {argument}"] = partial(run, TRAIN, argument, code=code)
    seconds = in_turn(works, plan.rounds, warm=not plan.smoke)
    found = ratios(seconds[first], seconds[libraries])
    yield Figure(f"{first} / {libraries}", "", found, at_most=1.5)
    for name, each in seconds.items():
        light = name not in (first, libraries)
        yield Figure(name, "s", each, at_most=1.5 if light else None)


def _first_step(plan: Plan) -> None:
    with TemporaryDirectory() as outputs:
        call(first_step, TRAIN, *plan.overrides, f"outputs={outputs}")


def _import() -> None:
    run("-c", f"import os, {LIBRARIES}; os._exit(0)")


def first_step() -> None:
    """The script in `sys.argv`, left as soon as the optimizer has stepped."""
    with to_stay("posenc.run"):  # as train.py imports it
        import posenc.run  # noqa: F401
        from posenc.training.module import AnswerModule

    learn = AnswerModule.learn

    def learn_once(*arguments: Any) -> Any:
        found = learn(*arguments)
        if found[-1]:
            os._exit(0)
        return found

    with patch.object(AnswerModule, "learn", learn_once):
        runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit(f"{sys.argv[0]}: took no step")


def without_torch() -> None:
    """The script in `sys.argv`; it exits with status 1 if that has imported torch."""
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        if "torch" in sys.modules:
            sys.exit(f"{' '.join(sys.argv)}: imports torch")
