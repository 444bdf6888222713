"""The run folder: where it is, who may write to it, what it says of the run, and its rows.

outputs/<task>/<model>-<encoding>-<positions>/seed<k>-<fingerprint>/
    config.yaml      every setting, resolved
    run.json         status, versions, timings, and the traceback of a failure
    train.log
    checkpoints/last.ckpt
    events.out.*     TensorBoard
    lengths.csv      the result; a later evaluation adds lengths-<hash>.csv
"""

import csv
import io
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posenc.errors import Busy, ConfigError
from posenc.results import progress
from posenc.results.disk import clear_unfinished, lock, replacing
from posenc.results.identity import (
    Flat,
    Settings,
    asked,
    evaluation_hash,
    flat,
    identity,
    leaf,
    shaping,
    unrolled,
)
from posenc.results.run_json import SCHEMA, read_status

SILENT = 120.0
"""Seconds without a sign of life after which a run is lost, where its lock does not tell."""

COLUMNS = (
    "task", "model", "encoding", "positions", "seed", "fingerprint", "train_max", "length",
    "in_range", "n", "exact", "token_accuracy", "loss", "chance", "token_chance",
    "positions_at_eval", "draws", "eval_seed",
)  # fmt: skip

WHOLE = ("seed", "train_max", "length", "n", "draws", "eval_seed")
REAL = ("exact", "token_accuracy", "loss", "chance", "token_chance")
"""Columns that hold whole and real numbers; `in_range` holds true or false, the others names."""


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with these keys as CSV; true and false are written small."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        booleans = {key: str(row[key]).lower() for key in row if isinstance(row[key], bool)}
        writer.writerow({**row, **booleans})
    return text.getvalue()


class RunFolder:
    """One run on disk. Whoever reads finds every file whole or not at all, but for train.log and
    events, which only grow."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = path / "checkpoints" / "last.ckpt"

    @classmethod
    def of(cls, settings: Settings) -> "RunFolder":
        """The folder that belongs to these settings, whether or not it exists."""
        run = identity(settings)
        setup = f"{run['model']}-{run['encoding']}-{run['positions']}"
        return cls(Path(settings["outputs"]).resolve() / run["task"] / setup / leaf(settings))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process; the lock goes with the process, however it ends.

        Raises Busy when another process holds it, ConfigError where none can.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise ConfigError(
                f"outputs: {error.filename} cannot be made or written ({error.strerror}); "
                "set outputs= to a folder to write in"
            ) from None
        with file:
            lock(file, self.path)
            os.utime(file.fileno())
            self._refuse_two_hosts(now=os.fstat(file.fileno()).st_mtime)
            clear_unfinished(self.path, self.checkpoint.parent)
            progress.forget(self.path)  # of a process that was killed
            try:
                yield
            finally:
                progress.forget(self.path)

    def _refuse_two_hosts(self, *, now: float) -> None:
        """Some network file systems keep locks from other hosts; there a sign of life has to do.

        `now` is by the clock of the file system, which hosts share.
        """
        try:
            status = self.status()
        except ConfigError:
            return  # told by whoever needs it
        host = status.get("host")
        if status.get("status") != "running" or host == platform.node():
            return
        left = SILENT - abs(now - progress.last_sign(self.path, "run.json"))
        if left > 0:
            raise Busy(
                f"this very run is going on at {host} in {self.path}; if it was killed there, "
                f"try again in {left:.0f} s"
            )

    def clear(self) -> None:
        """Deletes everything but the lock; first what would call the rest a finished run."""
        (self.path / "run.json").unlink(missing_ok=True)
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != ".lock":
                entry.unlink()

    def status(self) -> Settings:
        """What run.json says, if there is one. Raises ConfigError where it cannot be read."""
        return read_status(self.path / "run.json")

    def write_status(self, **changes: Any) -> None:
        """Changes these entries of run.json and keeps the others."""
        status = {**self.status(), "schema": SCHEMA, **changes}
        self.write("run.json", json.dumps(status, indent=2) + "\n")

    def write(self, name: str, text: str) -> None:
        """Puts a whole file in place at once."""
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(self.path / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    @property
    def fingerprint(self) -> str:
        """That of the run, which its name tells, whatever a later evaluation tries out."""
        return self.path.name.rpartition("-")[2]

    def begin(self, settings: Settings, **circumstances: Any) -> None:
        """Marks the run as running, and keeps what a report needs to know of its settings."""
        self.write_status(
            status="running", traceback=None, settings=flat(shaping(settings)), **circumstances
        )

    def seen_in_training(self, name: str) -> dict[int, float]:
        """Length -> share of the prompts behind a file of rows that training had met."""
        evaluations = self.status().get("evaluations", {})
        try:
            seen = evaluations.get(name, {}).get("seen_in_training", {})
            return {int(length): float(share) for length, share in seen.items()}
        except (AttributeError, TypeError, ValueError):
            path = self.path / "run.json"
            raise ConfigError(f"{path}: evaluations={evaluations} maps no lengths") from None

    def write_evaluation(self, name: str, settings: Settings, seen: dict[int, float]) -> None:
        """Keeps, for a file of rows, what was asked and what of it training had met."""
        status = self.status()
        own = {"settings": asked(settings, status.get("settings")), "seen_in_training": seen}
        self.write_status(evaluations={**status.get("evaluations", {}), name: own})

    def rows_name(self, settings: Settings) -> str:
        """lengths.csv for the evaluation that came first, lengths-<hash>.csv for any other."""
        own, first = self._asked(settings)
        return "lengths.csv" if own == first else f"lengths-{evaluation_hash(own)}.csv"

    def asked_anew(self, settings: Settings) -> Flat:
        """What differs from the evaluation that came first, and from training."""
        own, first = self._asked(settings)
        known = unrolled(self.status().get("settings", {}) | first)
        return {
            key: value
            for key, value in unrolled(own).items()
            if key not in known or known[key] != value
        }

    def _asked(self, settings: Settings) -> tuple[Flat, Flat]:
        """What is asked, and what was asked first."""
        status = self.status()
        own = asked(settings, status.get("settings"))
        return own, status.get("evaluations", {}).get("lengths.csv", {}).get("settings", own)

    def write_rows(self, name: str, rows: list[Settings]) -> None:
        """Writes rows with the keys COLUMNS as CSV."""
        self.write(name, csv_text(COLUMNS, rows))

    def read_rows(self, name: str) -> list[Settings]:
        """The rows of a CSV written by `write_rows`; no rows where it does not exist.

        Raises ConfigError where it is not as `write_rows` left it.
        """
        path = self.path / name
        if not path.exists():
            return []
        try:
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                rows = [_typed(row, reader.line_num) for row in reader]
            if not rows:
                raise ValueError("no row")
        except (OSError, ValueError, csv.Error) as error:
            raise ConfigError(
                f"{path} is damaged ({error}): delete it, and the run is evaluated again"
            ) from None
        return rows


def _typed(row: dict[str, str], line: int) -> Settings:
    """Raises ValueError, naming the line, where a cell is missing or not what its column says."""
    try:
        for column in COLUMNS:
            if not row.get(column):
                raise ValueError(f"a row lacks {column}")
        typed: Settings = {
            **row,
            **{key: int(row[key]) for key in WHOLE},
            **{key: float(row[key]) for key in REAL},
            "in_range": row["in_range"] == "true",
        }
        if not (0 <= typed["exact"] <= 1 <= typed["n"]):
            raise ValueError(f"an exact match of {row['exact']} over {row['n']} problems")
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from None
    return typed
