"""What is kept of every encoding and task: a first result, and how long a step takes."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from posenc.errors import ConfigError
from posenc.results.statistics import fitted


class First(NamedTuple):
    """What one run of an encoding found."""

    exact: dict[int, float]
    """Exact match by length."""
    fitted: bool
    """Whether it learned its trained lengths."""


def first_results(folder: Path, *, task: str) -> dict[tuple[str, str], First]:
    """(encoding, model) -> the run of seed 0 on that task, with plain positions.

    From results.csv, where there is one; raises ConfigError where it holds several such runs.
    """
    results = _read(folder / "results.csv")
    if results is None:
        return {}
    found = {}
    kept = results.filter(task=task, positions="index", seed=0)
    for (encoding, model), own in kept.group_by("encoding", "model"):
        if own["fingerprint"].n_unique() > 1:
            run = f"task={task} encoding={encoding} model={model} seed=0"
            raise ConfigError(f"results.csv: several runs of {run}; keep one of them")
        exact = dict(own.select("length", "exact").rows())
        good = fitted(own["exact"].to_list(), own["in_range"].to_list())
        found[str(encoding), str(model)] = First(exact, good)
    return found


def training_steps(folder: Path) -> dict[str, float]:
    """From encodings.csv, where there is one: the time of a step relative to one without."""
    return _medians(folder / "encodings.csv").get("", {})


def batch_costs(folder: Path) -> dict[str, tuple[float, float]]:
    """From tasks.csv, where there is one: the microseconds that a batch of a task takes, and its
    share of the training step that it feeds."""
    found = _medians(folder / "tasks.csv")
    costs, shares = found.get("us a batch", {}), found.get("of a step", {})
    return {task: (cost, shares[task]) for task, cost in costs.items()}


def _medians(path: Path) -> dict[str, dict[str, float]]:
    """Of a benchmark: unit -> figure -> median."""
    table = _read(path)
    found: dict[str, dict[str, float]] = {}
    for figure, unit, median in () if table is None else table["figure", "unit", "median"].rows():
        found.setdefault(unit or "", {})[figure] = median
    return found


def _read(path: Path) -> pl.DataFrame | None:
    return pl.read_csv(path) if path.exists() else None
