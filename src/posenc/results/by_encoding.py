"""What is kept of every encoding: a first result on the default task, and how long a step takes."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from posenc.errors import ConfigError
from posenc.results.labels import MISSING
from posenc.results.statistics import fitted


def exact_matches(folder: Path, encoding: str, model: str, lengths: Sequence[int]) -> list[str]:
    """Exact match of seed 0 at each length, in parentheses where the run is not fitted.

    From results.csv, where there is one; raises ConfigError where it holds several such runs.
    """
    results = _read(folder / "results.csv")
    if results is None:
        return [MISSING] * len(lengths)
    own = results.filter(encoding=encoding, model=model, positions="index", seed=0)
    if own["fingerprint"].n_unique() > 1:
        run = f"encoding={encoding} model={model} seed=0"
        raise ConfigError(f"results.csv: several runs of {run}; keep one of them")
    by_length = dict(own.select("length", "exact").rows())
    good = fitted(own["exact"].to_list(), own["in_range"].to_list())
    form = "{:.2f}" if good else "({:.2f})"
    return [form.format(by_length[n]) if n in by_length else MISSING for n in lengths]


def training_steps(folder: Path) -> dict[str, float]:
    """From steps.csv, where there is one: the time of a step relative to one without encoding."""
    table = _read(folder / "steps.csv")
    return {} if table is None else dict(table.select("encoding", "ratio").rows())


def _read(path: Path) -> pl.DataFrame | None:
    return pl.read_csv(path) if path.exists() else None
