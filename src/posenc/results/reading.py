"""From folders to one table: the rows of every finished run that lies below them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from posenc.errors import ConfigError
from posenc.results.records import COLUMNS, REAL, SCHEMA, WHOLE

RUN = ["task", "model", "encoding", "positions", "seed", "fingerprint"]
"""The columns that tell one run from another."""

TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(COLUMNS, pl.String),
    **dict.fromkeys(WHOLE, pl.Int64),
    **dict.fromkeys(REAL, pl.Float64),
    "in_range": pl.Boolean,
}


class Skipped(NamedTuple):
    """A run folder that gave no rows, and why, for a reader to be told."""

    folder: Path
    reason: str


def read(folders: Iterable[Path]) -> tuple[pl.DataFrame, list[Skipped]]:
    """The rows of all finished runs below the folders, sorted, and the runs left out.

    A run met twice counts once. Raises ConfigError for a folder that does not exist, a file that
    is no table of results, and two tables that disagree on one run.
    """
    tables, skipped = [pl.DataFrame(schema=TYPES)], []
    for folder in _run_folders(folders):
        if reason := _unusable(folder):
            skipped.append(Skipped(folder, reason))
        else:
            tables.append(read_rows(folder / "lengths.csv"))
    rows = pl.concat(tables).unique().sort(*RUN, "length")
    clash = rows.filter(pl.struct(*RUN, "length").is_duplicated())
    if not clash.is_empty():
        run = " ".join(f"{key}={clash[key][0]}" for key in RUN)
        raise ConfigError(f"two folders disagree on the run {run}: give only one of them")
    return rows, skipped


def read_rows(path: Path) -> pl.DataFrame:
    """One lengths.csv; raises ConfigError, naming file and column, where it is not one."""
    try:
        table = pl.read_csv(path, infer_schema=False)
    except pl.exceptions.NoDataError:
        table = pl.DataFrame()
    for column in COLUMNS:
        if column not in table.columns:
            raise ConfigError(f"{path} lacks the column '{column}': evaluate the run again")
    try:
        return pl.read_csv(path, schema_overrides=TYPES).select(*TYPES)
    except pl.exceptions.ComputeError as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{path} cannot be read ({reason}): evaluate the run again") from error


def _run_folders(folders: Iterable[Path]) -> Iterator[Path]:
    found: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; name one that holds runs")
        for name in ("run.json", "lengths.csv"):
            found.update(path.parent.resolve() for path in folder.rglob(name))
    yield from sorted(found)


def _unusable(folder: Path) -> str | None:
    """Why this folder's rows cannot be used, or None."""
    try:
        run = json.loads((folder / "run.json").read_text())
        schema, status = run["schema"], run["status"]
    except FileNotFoundError:
        return "has no run.json"
    except (ValueError, KeyError, TypeError):
        return "its run.json cannot be read"
    if schema != SCHEMA:
        return f"its run.json has schema {schema}, and this version reads {SCHEMA}"
    if status != "finished":
        return str(status)
    if not (folder / "lengths.csv").exists():
        return "finished, but has no lengths.csv"
    return None
