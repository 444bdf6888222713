"""A job for every core, in series and with `launcher=joblib`."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import train
from posenc.errors import RunFailed
from posenc.launching import cores

SETS = ("seed",)
SMOKE = ("trainer.max_steps=2", "eval.samples=16", "length.test=25", "logger=none")


def measure(plan: Plan) -> Iterator[Figure]:
    """Whole commands, with the start of their processes, evaluation and pictures."""
    jobs = cores(1)
    settings = (*(SMOKE if plan.smoke else ()), *plan.overrides)
    series, joblib = f"{jobs} jobs in series", f"{jobs} jobs with launcher=joblib"
    works = {
        series: partial(_sweep, jobs, *settings),
        joblib: partial(_sweep, jobs, *settings, "launcher=joblib"),
    }
    seconds = in_turn(works, plan.rounds, warm=False)
    for name, each in seconds.items():
        yield Figure(name, "s", each)
    found = ratios(seconds[series], seconds[joblib])
    yield Figure(f"{series} / with launcher=joblib", "", found, at_least=0.85 * jobs)


def _sweep(jobs: int, *settings: str) -> None:
    with TemporaryDirectory() as outputs:
        train(outputs, "-m", f"seed=range({jobs})", *settings)
        done = len(list(Path(outputs).rglob("lengths.csv")))
    if done != jobs:
        raise RunFailed(f"{done} of {jobs} jobs left rows")
