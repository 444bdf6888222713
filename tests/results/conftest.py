"""Planted rows and run folders."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]


@pytest.fixture
def planted() -> Callable[..., list[Row]]:
    """Builds the rows of one run: exact match by length, and any column set otherwise."""

    def build(exact: dict[int, float], train_max: int = 20, **columns: Any) -> list[Row]:
        run = {"task": "who_bit_whom", "model": "encoder", "encoding": "rope", "positions": "index"}
        rest = {
            "token_chance": 0.5,
            "positions_at_eval": "index",
            "draws": 1,
            "eval_seed": 0,
        }
        return [
            run
            | {"seed": 0, "fingerprint": "f0", "train_max": train_max}
            | {"length": length, "in_range": length <= train_max, "n": 100, "exact": value}
            | {"token_accuracy": value, "loss": 1 - value, "chance": 0.5}
            | rest
            | columns
            for length, value in exact.items()
        ]

    return build


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run folder below tmp_path / "outputs" as a finished run leaves it, or as told."""

    def write(rows: list[Row], status: str = "finished", schema: int = 2) -> Path:
        first = rows[0]
        contender = f"{first['model']}-{first['encoding']}-{first['positions']}"
        seed = f"seed{first['seed']}-{first['fingerprint']}"
        folder = tmp_path / "outputs" / first["task"] / contender / seed
        folder.mkdir(parents=True)
        run = {"schema": schema, "status": status, "parameters": 1234}
        (folder / "run.json").write_text(json.dumps(run))
        with (folder / "lengths.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(first))
            table.writeheader()
            table.writerows(row | {"in_range": str(row["in_range"]).lower()} for row in rows)
        return folder

    return write
