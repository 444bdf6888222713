"""From folders to one table: the rows of every finished run that lies below them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from posenc.errors import ConfigError
from posenc.results.identity import Flat, evaluation_hash
from posenc.results.records import COLUMNS, REAL, WHOLE, RunFolder
from posenc.results.variants import Variants

RUN = ["task", "model", "encoding", "positions", "seed", "fingerprint"]
"""The columns that tell one run from another."""

EVALUATED = [*RUN, "evaluation"]
"""The same for evaluations of runs: the last is a hash of what was asked."""

TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(COLUMNS, pl.String),
    **dict.fromkeys(WHOLE, pl.Int64),
    **dict.fromkeys(REAL, pl.Float64),
    "in_range": pl.Boolean,
}

TUNING = "tuning"
"""A folder of runs that looked for good settings: no contenders, unless that folder is named."""

LARGEST = 2**63 - 1
"""Of whole numbers."""

Row = dict[str, Any]
Key = tuple[Any, ...]
"""The values of EVALUATED."""


class Skipped(NamedTuple):
    """A run folder or a file of rows that is not counted, and why, for a reader to be told."""

    path: Path
    reason: str


class Origin(NamedTuple):
    """Where rows come from, and what the run behind them cost."""

    folder: Path
    parameters: int | None
    step_seconds: float | None
    steps: int | None
    """Over which the time of one is a mean; the first ones take longer."""
    machine: str
    """Host and number of threads."""


class Found(NamedTuple):
    """The rows of many runs, sorted, with a column `evaluation`; where each comes from; the
    settings behind fingerprints and evaluations; and what is not counted."""

    rows: pl.DataFrame
    origins: dict[Key, Origin]
    variants: Variants
    skipped: list[Skipped]


def read(places: Sequence[Path]) -> Found:
    """All finished runs below folders, with all their evaluations, and those in kept results.csv.

    A CSV tells no settings and no folders. Rows met twice count once, and rows that disagree on one
    run not at all; both are named among the skipped. Raises ConfigError for a folder that does not
    exist and for a CSV that holds no such rows.
    """
    files: dict[Key, list[tuple[Path, list[Row]]]] = defaultdict(list)
    origins: dict[Key, Origin] = {}
    variants: dict[str, Flat] = {}
    skipped = []
    for place in filter(Path.is_file, places):
        for key, table in _kept(place).group_by(EVALUATED, maintain_order=True):
            files[key].append((place, table.to_dicts()))
    for folder in _run_folders([place for place in places if not place.is_file()]):
        try:
            run = _finished(folder)
        except ConfigError as reason:
            skipped.append(Skipped(folder, str(reason)))
            continue
        for path in sorted(folder.glob("lengths*.csv"), key=lambda path: (len(path.name), path)):
            try:
                asked = _asked(run, path.name)
                evaluation = evaluation_hash(asked)
                rows = [{**row, "evaluation": evaluation} for row in _read_rows(path)]
            except ConfigError as reason:
                skipped.append(Skipped(path, str(reason)))
                continue
            key = tuple(rows[0][column] for column in EVALUATED)
            files[key].append((path, rows))
            origins.setdefault(key, _origin(folder, run))
            variants |= {key[RUN.index("fingerprint")]: run["settings"], evaluation: asked}
    found = []
    for several in files.values():
        counted, doubles = _one_of(several)
        skipped += doubles
        found += counted
    table = pl.DataFrame(found, schema={**TYPES, "evaluation": pl.String}, orient="row")
    return Found(table.sort(*EVALUATED, "length"), origins, variants, skipped)


def _one_of(several: list[tuple[Path, list[Row]]]) -> tuple[list[Row], list[Skipped]]:
    """The rows of one evaluation of one run, and the files that are not counted."""
    (first, rows), *others = several
    if all(other == rows for _, other in others):
        return rows, [Skipped(path, f"holds the same rows as {first}") for path, _ in others]
    told = "disagrees with {} on the same run, so neither is counted: name only one of them"
    pairs = [(first, others[0][0]), *((path, first) for path, _ in others)]
    return [], [Skipped(path, told.format(rival)) for path, rival in pairs]


def _read_rows(path: Path) -> list[Row]:
    """One file of rows. Raises ConfigError where it is not the whole table of one run."""
    rows = RunFolder(path.parent).read_rows(path.name)
    mend = "delete it, and the run is evaluated again"
    if len({tuple(row[column] for column in RUN) for row in rows}) > 1:
        raise ConfigError(f"{path.name} holds rows of several runs: {mend}")
    if len({row["length"] for row in rows}) < len(rows):
        raise ConfigError(f"{path.name} is damaged (a length is there twice): {mend}")
    if not all(0 <= row["token_accuracy"] <= 1 for row in rows):
        raise ConfigError(f"{path.name} is damaged (a token accuracy is no share): {mend}")
    if any(abs(row[column]) > LARGEST for row in rows for column in WHOLE):
        raise ConfigError(f"{path.name} is damaged (a number is beyond {LARGEST}): {mend}")
    return [{column: row[column] for column in TYPES} for row in rows]


def _faulty(table: pl.DataFrame) -> pl.Series:
    """Which rows lack a cell, hold no share of any problem, or repeat a length of their run."""
    own = [column for column in (*EVALUATED, "length") if column in table.columns]
    return table.select(
        pl.any_horizontal(pl.all().is_null())
        | (pl.col("n") < 1)
        | ~pl.all_horizontal(pl.col("exact", "token_accuracy").is_between(0, 1))
        | ~pl.struct(own).is_first_distinct()
    ).to_series()


def _kept(path: Path) -> pl.DataFrame:
    """The rows of a results.csv; older ones do not tell evaluations apart."""
    try:
        table = pl.read_csv(path.read_bytes(), schema_overrides={**TYPES, "evaluation": pl.String})
        if "evaluation" not in table.columns:
            table = table.with_columns(evaluation=pl.lit(""))
        table = table.select(*TYPES, "evaluation")
        if (faulty := _faulty(table)).any():
            raise ValueError(
                f"line {faulty.arg_true()[0] + 2} lacks a cell, holds no share, or repeats a length"
            )
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{path}: {reason}; name a results.csv of this program") from None
    return table


def _run_folders(folders: Iterable[Path]) -> Iterator[Path]:
    found: set[Path] = set()
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder; name one that holds runs")
        for name in ("run.json", "lengths.csv"):
            found.update(
                path.parent.resolve()
                for path in folder.rglob(name)
                if TUNING not in path.relative_to(folder).parts
            )
    yield from sorted(found)


def _finished(folder: Path) -> dict[str, Any]:
    """What run.json says. Raises ConfigError where there is no result to read, saying why."""
    if not (folder / "run.json").exists():
        raise ConfigError("has no run.json")
    run = RunFolder(folder).status()
    if run.get("status") != "finished":
        raise ConfigError(_unfinished(run))
    if not (folder / "lengths.csv").exists():
        raise ConfigError("finished, but has no lengths.csv")
    if not isinstance(run.get("settings"), dict):
        raise ConfigError(f"{folder / 'run.json'} tells no settings")
    return run


def _unfinished(run: dict[str, Any]) -> str:
    status, traceback = run.get("status"), str(run.get("traceback") or "").strip()
    return f"{status}: {traceback.splitlines()[-1]}" if traceback else str(status)


def _asked(run: dict[str, Any], name: str) -> Flat:
    try:
        return dict(run["evaluations"][name]["settings"])
    except (KeyError, TypeError, ValueError):
        raise ConfigError(f"its run.json does not tell what was asked for {name}") from None


def _origin(folder: Path, run: dict[str, Any]) -> Origin:
    seconds, steps = run.get("train_seconds"), run.get("trained_steps")
    return Origin(
        folder=folder,
        parameters=run.get("parameters"),
        step_seconds=seconds / steps if seconds and steps else None,
        steps=steps,
        machine=f"{run.get('host')}, {run.get('threads')} threads",
    )
