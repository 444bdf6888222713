"""The comparison of encodings in scripts/benchmark.py, at a size that measures nothing."""

import logging
from pathlib import Path

import pytest
from command_line import rows, run

from posenc.catalogue import classes

SMALL = ("data.batch_size=2", "model.width=16", "model.heads=2")


def test_every_encoding_is_compared_with_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)  # would last for the tests to come
    few = ("--steps", "1", "--rounds", "1", "--out", str(tmp_path))
    ended = run("--encodings", *few, *SMALL, script="scripts/benchmark.py")
    assert ended.code == 0, ended.err
    table = rows(tmp_path / "steps.csv")
    models = dict.fromkeys(classes(), "encoder") | {"cope": "decoder", "xpos": "decoder"}
    assert [(row["encoding"], row["model"]) for row in table[:2]] == [
        ("none", "encoder"),
        ("none", "decoder"),
    ]
    assert {row["encoding"]: row["model"] for row in table[2:]} == {
        name: model for name, model in models.items() if name != "none"
    }
    assert all(float(row["ratio"]) == 1 for row in table[:2])
    assert all(float(row["ratio"]) > 0 for row in table)
