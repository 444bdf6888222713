"""The comparison of encodings in scripts/benchmark.py, at a size that measures nothing."""

import logging
from importlib import import_module
from pathlib import Path

import pytest
from catalogue import CLASSES
from command_line import rows, run

from posenc.catalogue import classes
from posenc.choosing import defaults_of

SMALL = ("data.batch_size=2", "model.width=16", "model.heads=2")


def model(encoding: str) -> str:
    """The encoder where it can have this encoding."""
    module, _, name = defaults_of("encoding", encoding)["_target_"].rpartition(".")
    return "decoder" if getattr(import_module(module), name).causal_only else "encoder"


def test_every_encoding_is_compared_with_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)  # would last for the tests to come
    few = ("--steps", "1", "--rounds", "1", "--out", str(tmp_path))
    ended = run("--encodings", *few, *SMALL, script="scripts/benchmark.py")
    assert ended.code == 0, ended.err
    table = rows(tmp_path / "steps.csv")
    assert [(row["encoding"], row["model"]) for row in table[:2]] == [
        ("none", "encoder"),
        ("none", "decoder"),
    ]
    assert {row["encoding"]: row["model"] for row in table[2:]} == {
        name: model(name) for name in CLASSES if name != "none"
    }
    assert all(float(row["ratio"]) == 1 for row in table[:2])
    assert all(float(row["ratio"]) > 0 for row in table)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--rounds", "0"), "--rounds 0: must be at least 1"),
        (("--rounds", "-1"), "--rounds -1: must be at least 1"),
        (("--steps", "0"), "trainer.max_steps=0: must be between"),
        (("--encodings", "--out", "/dev/null/x"), "name a folder to write in"),
        (("--encodings", "encoding=rope"), "encoding=rope: --encodings goes through all"),
        (("--encodings", "model=decoder"), "model=decoder: --encodings goes through all"),
        (("--out", "elsewhere"), "goes with --encodings"),
        (("encoding=rpoe",), "did you mean 'rope'?"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_measured(
    arguments: tuple[str, ...], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)
    ended = run(*arguments, script="scripts/benchmark.py")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert part in ended.err


def test_batches_of_every_task_are_measured_beside_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)
    few = ("--steps", "1", "--rounds", "1", "--out", str(tmp_path))
    ended = run("--tasks", *few, *SMALL, script="scripts/benchmark.py")
    assert ended.code == 0, ended.err
    table = rows(tmp_path / "batches.csv")
    assert [row["task"] for row in table] == classes("task")
    assert all(1 <= int(row["length"]) <= 20 for row in table)
    assert all(float(row["microseconds"]) > 0 for row in table)
    assert all(0 < float(row["share"]) < 1 for row in table)
    taken = run("--tasks", "--encodings", script="scripts/benchmark.py")
    assert taken.code == 2
