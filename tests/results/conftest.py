"""Planted rows, run folders, and what is read of them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from posenc.results.identity import evaluation_hash
from posenc.results.panels import Panel, panels
from posenc.results.reading import EVALUATED, TYPES, Found
from posenc.results.records import RunFolder

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
def found() -> Callable[..., Found]:
    """Rows as they are read, of one evaluation unless a column `evaluation` says otherwise."""

    def build(rows: list[Row], variants: Mapping[str, Row] | None = None) -> Found:
        whole = [{"evaluation": "e0"} | row for row in rows]
        table = pl.DataFrame(whole, schema={**TYPES, "evaluation": pl.String})
        return Found(table.sort(*EVALUATED, "length"), {}, variants or {}, [])

    return build


@pytest.fixture
def studies(
    planted: Callable[..., list[Row]], found: Callable[..., Found]
) -> Callable[..., list[Panel]]:
    """Panels of encodings with their scores at seeds 0, 1, ...; None where there is no run.

    A score is the exact match at the one length beyond the trained ones. Encodings are `unfitted`
    at the seeds that are told. Tasks are called task000, task001, ...
    """

    def build(
        several: Sequence[Mapping[str, Sequence[float | None]]],
        unfitted: Mapping[str, Sequence[int]] | None = None,
        **columns: Any,
    ) -> list[Panel]:
        rows = []
        for number, scores in enumerate(several):
            for encoding, own in scores.items():
                failing = (unfitted or {}).get(encoding, ())
                run = {"task": f"task{number:03}", "encoding": encoding, "fingerprint": encoding}
                for seed, score in enumerate(own):
                    if score is not None:
                        curve = {20: 0.5 if seed in failing else 1.0, 21: score}
                        rows += planted(curve, **run | {"seed": seed} | columns)
        return panels(found(rows))

    return build


@pytest.fixture
def study(studies: Callable[..., list[Panel]]) -> Callable[..., Panel]:
    """One of `studies`."""
    return lambda scores, *options, **columns: studies([scores], *options, **columns)[0]


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run folder below tmp_path / "outputs" as a finished run leaves it, or as told.

    Given the same run with other things `asked`, it adds a later evaluation. Anything else that is
    given stands in run.json.
    """

    def write(
        rows: list[Row],
        settings: Row | None = None,
        asked: Row | None = None,
        **status: Any,
    ) -> Path:
        first = rows[0]
        setup = f"{first['model']}-{first['encoding']}-{first['positions']}"
        leaf = f"seed{first['seed']}-{first['fingerprint']}"
        folder = RunFolder(tmp_path / "outputs" / first["task"] / setup / leaf)
        known = folder.status().get("evaluations", {})
        asked = asked or {"eval.samples": first["n"], "length.test": rows[-1]["length"]}
        name = f"lengths-{evaluation_hash(asked)}.csv" if known else "lengths.csv"
        folder.write_rows(name, rows)
        groups = {group: first[group] for group in ("task", "model", "encoding", "positions")}
        usual = {
            "status": "finished",
            "traceback": None,
            "settings": {f"{group}.name": own for group, own in groups.items()} | (settings or {}),
            "host": "here",
            "threads": 1,
            "train_seconds": 20.0,
            "trained_steps": 2000,
            "parameters": 1234,
            "evaluations": {**known, name: {"settings": asked, "seen_in_training": {}}},
        }
        folder.write_status(**usual | status)
        return folder.path

    return write
