"""What is said of contenders that should not be compared."""

from collections.abc import Callable
from typing import Any

import pytest

from posenc.results.comparable import remarks
from posenc.results.panels import panels
from posenc.results.reading import Found

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]

GOOD = {20: 1.0, 25: 0.9}


@pytest.fixture
def remarked(planted: Planted, found: Read) -> Callable[..., list[str]]:
    """The remarks on the one panel of encodings that have these settings."""

    def build(settings: dict[str, dict[str, Any]], **columns: Any) -> list[str]:
        rows = [row for name in settings for row in planted(GOOD, encoding=name, fingerprint=name)]
        everything = found([row | columns for row in rows], settings)
        [panel] = panels(everything)
        return remarks(panel, everything.variants)

    return build


def test_settings_that_differ_are_told_the_commonest_last(remarked: Callable[..., Any]) -> None:
    steps = {"alibi": 5, "fire": 2000, "learned": 2000, "none": 2000, "rope": 400, "t5": 2000}
    settings: dict[str, dict[str, Any]] = {
        name: {"model.width": 64, "encoding.name": name, "trainer.max_steps": count}
        for name, count in steps.items()
    }
    assert remarked(settings) == [
        "These contenders differ in trainer.max_steps: 5 (alibi), 400 (rope), 2000 (others); "
        "compare within one value only."
    ]
    settings["t5"]["model.width"] = 32
    del settings["alibi"]["trainer.max_steps"]
    assert remarked(settings) == [
        "These contenders differ in model.width: 32 (t5), 64 (others); "
        "in trainer.max_steps: null (alibi), 400 (rope), 2000 (others); "
        "compare within one value only."
    ]


def test_three_of_one_value_are_named(remarked: Callable[..., Any]) -> None:
    settings = {name: {"steps": 9 if name == "t5" else 5} for name in ("a", "b", "c", "t5")}
    assert remarked(settings)[0].startswith("These contenders differ in steps: 9 (t5), 5 (a, b, c)")


def test_what_is_not_known_is_said(planted: Planted, found: Read) -> None:
    rows = [row for name in "abc" for row in planted(GOOD, encoding=name, fingerprint=name)]
    settings = {"a": {"steps": 5}, "b": {"steps": 9}}
    everything = found(rows, settings)
    [panel] = panels(everything)
    [line] = remarks(panel, settings)
    assert "steps: 5 (a), 9 (b), unknown (c);" in line


def test_what_a_panel_compares_is_no_difference(remarked: Callable[..., Any]) -> None:
    settings = {
        name: {
            "encoding.name": name,
            "encoding.base": size,
            "positions.name": name,
            "trainer.accelerator": name,
            "model.width": 64,
        }
        for name, size in (("rope", 1), ("t5", 2))
    }
    assert remarked(settings) == []


def test_panels_of_their_own_may_differ(planted: Planted, found: Read) -> None:
    tasks = {"copy": 400, "reverse": 2000}
    rows = [row for task in tasks for row in planted(GOOD, task=task, fingerprint=task)]
    everything = found(rows, {task: {"trainer.max_steps": steps} for task, steps in tasks.items()})
    assert [remarks(panel, everything.variants) for panel in panels(everything)] == [[], []]


def test_contenders_tested_on_fewer_problems_are_told(planted: Planted, found: Read) -> None:
    several = found([*planted(GOOD), *planted(GOOD, seed=1, n=64), *planted(GOOD, encoding="t5")])
    [panel] = panels(several)
    assert remarks(panel, {}) == [
        "Problems tested at each length: 64 (rope), 100 (t5); the fewer, the less certain."
    ]


def test_contenders_tested_on_other_problems_are_told(planted: Planted, found: Read) -> None:
    rows = planted(GOOD) + planted(GOOD, encoding="t5", eval_seed=1, evaluation="e1")
    asked = {"eval.samples": 100, "eval.lengths": None, "length.test": 25}
    everything = found(
        rows,
        {
            "e0": asked | {"eval.seed": 0},
            "e1": asked | {"eval.seed": 1, "eval.lengths": [20, 25], "positions.draws": 4},
        },
    )
    [panel] = panels(everything)
    assert remarks(panel, everything.variants) == [
        "These contenders differ in eval.seed: 0 (rope), 1 (t5); compare within one value only."
    ]
