"""What an evaluation may keep beside its lengths.csv: tables that only some tasks have.

places.csv has the token accuracy at each place of the answers, or over a stretch from `place` to
`last`, counted from 0, and the number of `tokens` that it rests on. grid.csv has the columns of
lengths.csv, and `second` for the other size of the problems. bits.csv has bits a token at every
place of the longest problems, and those that the best predictor needs.
"""

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from posenc.errors import ConfigError
from posenc.results.records import COLUMNS, REAL, WHOLE, RunFolder, csv_text

ASKED = COLUMNS[: COLUMNS.index("length") + 1]
PLACES = (*ASKED, "place", "last", "tokens", "token_accuracy", "eval_seed")
GRID = (*COLUMNS, "second")
BITS = (*ASKED, "place", "n", "bits", "best", "eval_seed")
KINDS = {"places": PLACES, "grid": GRID, "bits": BITS}
"""Kind of table -> its columns."""
MEASURED = ("bits", "best")
NUMBERS = {*WHOLE, *REAL, *MEASURED, "place", "last", "tokens", "second"}

Row = Mapping[str, Any]


def file_name(kind: str, rows: str) -> str:
    """The name of a table that belongs to a file of rows, lengths.csv or lengths-<hash>.csv."""
    return rows.replace("lengths", kind, 1)


def write_details(folder: RunFolder, kind: str, rows: str, table: Sequence[Row]) -> None:
    """Puts a table in place beside the file of rows that it belongs to."""
    folder.write(file_name(kind, rows), csv_text(KINDS[kind], table))


def read_details(folder: Path, kind: str, rows: str) -> list[dict[str, str]]:
    """The rows of a table beside a file of rows; none where it does not exist.

    Raises ConfigError where it is not as `write_details` left it.
    """
    path = folder / file_name(kind, rows)
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        if not found or not all(row.get(column) for row in found for column in KINDS[kind]):
            raise ValueError("a row lacks a cell")
        for number in (row[column] for row in found for column in NUMBERS & row.keys()):
            float(number)
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(
            f"{path} is damaged ({error}): delete it and {rows}, and the run is evaluated again"
        ) from None
    return found


def print_details(folder: Path, rows: str, console: Console) -> None:
    """Prints the tables beside a file of rows."""
    for kind, table_of in (("grid", _grid), ("bits", _bits)):
        if found := read_details(folder, kind, rows):
            title, table = table_of(found)
            console.print(f"\n{title}", soft_wrap=True)
            console.print(table, crop=False)


def _grid(rows: Sequence[Row]) -> tuple[str, Table]:
    seconds = sorted({int(row["second"]) for row in rows})
    exact = {(int(row["length"]), int(row["second"])): float(row["exact"]) for row in rows}
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("length", *map(str, seconds)):
        table.add_column(column, justify="right", no_wrap=True)
    for length in sorted({length for length, _ in exact}):
        table.add_row(str(length), *(f"{exact[length, second]:.3f}" for second in seconds))
    return "exact match, by length (that of the first number) and second size", table


def _bits(rows: Sequence[Row]) -> tuple[str, Table]:
    """Means over stretches of places, up to each power of two and to the end of what is trained."""
    length, trained = int(rows[0]["length"]), int(rows[0]["train_max"])
    ends = sorted({2**k for k in range(2, 20) if 2**k < length} | {min(trained, length), length})
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("tokens before", "bits", "best possible"):
        table.add_column(column, justify="right", no_wrap=True)
    for start, end in pairwise([0, *ends]):
        inside = [row for row in rows if start <= int(row["place"]) < end]
        if inside:
            means = [sum(float(row[key]) for row in inside) / len(inside) for key in MEASURED]
            last = int(inside[-1]["place"]) + 1
            table.add_row(f"{start + 1} to {last}", *(f"{mean:.3f}" for mean in means))
    return f"bits a token at length {length}", table
