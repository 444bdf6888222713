"""From folders to one table: the rows of every finished run that lies below them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from posenc.errors import ConfigError
from posenc.results.records import COLUMNS, REAL, SCHEMA, WHOLE
from posenc.results.variants import Variants, variants

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


class Found(NamedTuple):
    """The rows of many runs, sorted; the settings behind them; and what was left out."""

    rows: pl.DataFrame
    variants: Variants
    skipped: list[Skipped]


def read(folders: Iterable[Path]) -> Found:
    """All finished runs below the folders.

    A run met twice counts once. Raises ConfigError for a folder that does not exist and for two
    tables that disagree on one run.
    """
    tables, used, skipped = [pl.DataFrame(schema=TYPES)], [], []
    for folder in _run_folders(folders):
        try:
            _check_finished(folder)
            tables.append(_read_rows(folder / "lengths.csv"))
            used.append(folder)
        except ConfigError as reason:
            skipped.append(Skipped(folder, str(reason)))
    rows = pl.concat(tables).unique().sort(*RUN, "length")
    clash = rows.filter(pl.struct(*RUN, "length").is_duplicated())
    if not clash.is_empty():
        run = " ".join(f"{key}={clash[key][0]}" for key in RUN)
        raise ConfigError(f"two folders disagree on the run {run}: give only one of them")
    return Found(rows, variants(used), skipped)


def _read_rows(path: Path) -> pl.DataFrame:
    """One lengths.csv. Raises ConfigError where it is not the whole table of one run."""
    mend = "delete it and evaluate the run again"
    try:
        text = path.read_bytes()  # as a path, polars would take [ and * for a pattern
        header = pl.read_csv(text, infer_schema=False, n_rows=0).columns
        if missing := [column for column in COLUMNS if column not in header]:
            raise ConfigError(f"its {path.name} lacks the column '{missing[0]}': {mend}")
        table = pl.read_csv(text, schema_overrides=TYPES).select(*TYPES)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"its {path.name} cannot be read ({reason}): {mend}") from None
    whole = table.null_count().sum_horizontal().item() == 0 and (
        table["exact"].is_between(0, 1).all() and table["length"].is_unique().all()
    )
    if not whole or table.n_unique(RUN) != 1:
        raise ConfigError(f"its {path.name} is not the whole table of one run: {mend}")
    return table


def _run_folders(folders: Iterable[Path]) -> Iterator[Path]:
    found: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; name one that holds runs")
        for name in ("run.json", "lengths.csv"):
            found.update(path.parent.resolve() for path in folder.rglob(name))
    yield from sorted(found)


def _check_finished(folder: Path) -> None:
    """Raises ConfigError, saying why, where this folder has no result to read."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        schema, status = run["schema"], run["status"]
    except FileNotFoundError:
        raise ConfigError("has no run.json") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError("its run.json cannot be read") from None
    if schema != SCHEMA:
        raise ConfigError(f"its run.json has schema {schema}, and this version reads {SCHEMA}")
    if status != "finished":
        raise ConfigError(str(status))
    if not (folder / "lengths.csv").exists():
        raise ConfigError("finished, but has no lengths.csv")
