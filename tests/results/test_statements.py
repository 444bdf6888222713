"""Statements: what they mean, by hand, and what is none."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from posenc.results.panels import Panel, panels
from posenc.results.reading import Found
from posenc.results.statements import Scope, Statement, Unmeasured

CURVE = {10: 1.0, 20: 0.9, 25: 0.8, 40: 0.2}


@pytest.fixture
def panel(planted: Callable[..., list[dict[str, Any]]], found: Callable[..., Found]) -> Panel:
    rows = [
        *planted(CURVE, encoding="rope"),
        *planted(dict.fromkeys(CURVE, 0.95), encoding="sinusoidal", positions="random"),
    ]
    return panels(found(rows))[0]


def margins(text: str, panel: Panel) -> list[float]:
    statement = Statement(text)
    runs = {each.label: each.runs[0] for each in panel.contenders}
    return [statement.margin(Scope(panel, runs, n)) for n in statement.lengths(panel)]


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "exact(rope, 25) > 0.5": [0.3],
        "exact(rope, 25) < 0.5": [-0.3],
        "0.5 > exact(rope, 25)": [-0.3],
        "token(rope, 40) > 0": [0.2],
        "bits(rope, 40) > 0": [0.8 / math.log(2)],
        "exact(rope, 26, 40) > 0": [0.8 - 0.04 * 8],
        "exact(rope, 40, 40) > 0": [0.2],
        "exact(rope, 21, 40) > score(rope)": [0.0],
        "in_range(rope) > 0": [0.95],
        "score('sinusoidal + random') > 0": [0.95],
        "token_score(rope) > token(rope, 40)": [0.57 - 0.2],
        "holds_to(rope) > 0": [20],
        "token(rope, 40) > token_chance(40)": [-0.3],
        "chance(20) - exact(rope, 20) > -1": [0.6],
        "exact(rope, 20) + 1 > -exact(rope, 40)": [2.1],
        "abs(exact(rope, 40) - chance(40)) < 0.1": [-0.2],
        "exact(rope, each) > chance(each)": [0.5, 0.4, 0.3, -0.3],
        "exact('sinusoidal + random', each) > exact(rope, each)": [-0.05, 0.05, 0.15, 0.75],
    }.items(),
)
def test_margins_by_hand(text: str, expected: list[float], panel: Panel) -> None:
    assert margins(text, panel) == pytest.approx(expected)


def test_labels_are_those_that_it_names() -> None:
    text = "exact('a + b', 5) + score(rope) > exact('a + b', 7)"
    assert list(Statement(text).labels) == ["a + b", "rope"]


@pytest.mark.parametrize(
    ("text", "missing"),
    {
        "exact(rope, 24) > 0": "length 24 was not tested",
        "exact(rope, 21, 24) > 0": "length 24 was not tested",
        "chance(7) < exact(rope, 20)": "length 7 was not tested",
        "exact(rope, 9, 40) > 0": "no length below 10 was tested",
    }.items(),
)
def test_what_was_not_tested_is_named(text: str, missing: str, panel: Panel) -> None:
    with pytest.raises(Unmeasured, match=missing):
        margins(text, panel)


def test_as_many_signs_as_there_may_be_are_read(panel: Panel) -> None:
    text = "score(rope) > " + "-" * 385 + "1"
    assert len(text) == 400
    (margin,) = margins(text, panel)
    assert margin == pytest.approx(1 + margins("score(rope) > 0", panel)[0])


def test_a_loss_that_is_no_number_decides_nothing(
    planted: Callable[..., list[dict[str, Any]]], found: Callable[..., Found]
) -> None:
    (panel,) = panels(found(planted({20: 1.0, 40: 0.5}, loss=float("nan"))))
    with pytest.raises(Unmeasured, match="a loss is no number"):
        margins("bits(rope, 40) < 3", panel)
    assert margins("exact(rope, 40) > 0", panel) == [0.5]


def test_nothing_beyond_is_no_score(
    planted: Callable[..., list[dict[str, Any]]], found: Callable[..., Found]
) -> None:
    (panel,) = panels(found(planted({10: 1.0, 20: 0.9})))
    with pytest.raises(Unmeasured, match="score: no such length was tested"):
        margins("score(rope) > 0", panel)


@pytest.mark.parametrize(
    ("text", "wrong"),
    {
        "exact(rope, 24": "is no comparison",
        "exact(rope, 24)": "is no single comparison",
        "exact(rope, 24) >= 0.5": "is no single comparison",
        "0 < exact(rope, 24) < 1": "is no single comparison",
        "0.5 > 0.4": "names no encoding",
        "chance(20) > 0": "names no encoding",
        "exact(rope) > 0": "takes one length, or two",
        "exact(rope, 1, 2, 3) > 0": "takes one length, or two",
        "exact(rope, 1, each) > 0": "takes one length, or two",
        "exact(rope, 40, 21) > 0": "takes one length, or two",
        "exact(rope, 2.5) > 0": "2.5 is neither a length nor each",
        "exact(rope, True) > 0": "True is neither a length nor each",
        "exact(rope, all) > 0": "all is neither a length nor each",
        "score(rope) > 1e400": "neither a number nor a right use",
        "2 * score(rope) > 1": "neither a number nor a right use",
        "exact(3, 24) > 0": "3 is no label",
        "accuracy(rope, 24) > 0": "neither a number nor a right use of exact, token",
        "chance(20, 3) < score(rope)": "neither a number nor a right use",
        "exact(rope, 24, seed=3) > 0": "neither a number nor a right use",
        "abs(score(rope), k=1) > 0": "neither a number nor a right use",
        "score(rope) > True": "neither a number nor a right use",
        "exact(rope, True, 40) > 0": "takes one length, or two",
        "exact(rope, False) > 0": "False is neither a length nor each",
        "score('') > 0": "no label of an encoding",
        "token(rope, 24) > chance(24)": "compares different things: exact, token_accuracy$",
        "bits(rope, 24) < holds_to(rope)": "compares different things: bits, length$",
        "score(rope, 24) > 0": "neither a number nor a right use",
        "score(rope) / 2 > 0": "neither a number nor a right use",
        "__import__('os') > score(rope)": "neither a number nor a right use",
        "score(rope) > 1e10": "neither a number nor a right use",
        f"exact(rope, {10**300}) > 0": "neither a length nor each",
        f"score(rope) > {'-' * 400}1": "is longer than 400 characters",
    }.items(),
)
def test_what_is_no_statement_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        Statement(text)
