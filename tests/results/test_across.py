"""Ranks over several tasks."""

from collections.abc import Callable
from typing import Any

import pytest

from posenc.results.across import across
from posenc.results.document import Section
from posenc.results.panels import Panel, panels
from posenc.results.reading import Found

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
Studies = Callable[..., list[Panel]]


def ranks(section: Section, head: str = "mean rank") -> dict[str, str]:
    """Encoding -> its rank, in the order of the table."""
    [table] = section.tables
    place = table.head.index(head)
    return {row[0].text: row[place].text for row in table.rows}


def only(sections: list[Section]) -> Section:
    [section] = sections
    return section


def test_ranks_of_the_mean_score_are_averaged_over_tasks(studies: Studies) -> None:
    section = only(
        across(
            studies(
                [
                    {"rope": [0.9, 0.7], "t5": [0.5, 0.5], "none": [0.1, 0.3]},
                    {"rope": [0.9, 0.9], "t5": [0.2, 0.2], "none": [0.3, 0.3]},
                    {"rope": [0.1, 0.9], "t5": [0.6, 0.5], "none": [0.2, 0.2]},
                ]
            )
        )
    )
    assert section.title == "Across tasks, encoder"
    assert ranks(section) == {"rope": "1.33", "t5": "2.00", "none": "2.67"}
    assert section.verdict[0].startswith(
        "Ranks of the mean score at 3 tasks (task000, task001, task002): 1 is the best"
    )


def test_scores_that_print_alike_share_a_rank(studies: Studies) -> None:
    tie = {"rope": [0.701], "t5": [0.699], "none": [0.1]}
    assert ranks(only(across(studies([tie, tie])))) == {
        "rope": "1.50",
        "t5": "1.50",
        "none": "3.00",
    }


def test_intervals_hold_the_mean(studies: Studies) -> None:
    scores = {"rope": [0.9, 0.5, 0.8], "t5": [0.6, 0.6, 0.7], "none": [0.1, 0.1, 0.1]}
    [table] = only(across(studies([scores, scores]))).tables
    told = {row[0].text: row[3].text.replace("\xa0", " ") for row in table.rows}
    assert told == {"rope": "1.00 to 1.50", "t5": "1.50 to 2.00", "none": "3.00 to 3.00"}


def test_an_encoding_that_is_missing_at_a_task_is_not_ranked_but_named(studies: Studies) -> None:
    section = only(
        across(
            studies(
                [
                    {"rope": [0.9], "t5": [0.5], "abacus": [1.0], "fire": [1.0]},
                    {"rope": [0.9], "t5": [0.5], "abacus": [1.0]},
                    {"rope": [0.9], "t5": [0.5], "fire": [1.0]},
                ]
            )
        )
    )
    assert ranks(section) == {"rope": "1.00", "t5": "2.00"}
    assert section.verdict[-1] == "Not ranked, as some task lacks them: abacus, fire."


def test_what_is_fitted_nowhere_comes_last_unless_all_runs_count(studies: Studies) -> None:
    scores = {"rope": [0.5, 0.5], "t5": [0.4, 0.4], "none": [0.9, 0.9]}
    section = only(across(studies([scores, scores], unfitted={"none": [0, 1]})))
    assert ranks(section) == {"rope": "1.00", "t5": "2.00", "none": "3.00"}
    assert ranks(section, "all runs") == {"rope": "2.00", "t5": "3.00", "none": "1.00"}


def test_an_unfitted_run_is_in_no_mean(studies: Studies) -> None:
    scores = {"rope": [0.9, 0.1], "t5": [0.6, 0.6]}
    section = only(across(studies([scores, scores], unfitted={"rope": [1]})))
    assert ranks(section) == {"rope": "1.00", "t5": "2.00"}
    assert ranks(section, "all runs") == {"rope": "2.00", "t5": "1.00"}


def test_ranks_are_those_of_the_scores_that_are_shown_whatever_seeds_are_shared(
    studies: Studies,
) -> None:
    partly = {"rope": [0.1, 0.9, 0.9, None], "t5": [0.5, None, None, 0.5]}
    never = {"rope": [0.9, 0.9, None, None], "t5": [None, None, 0.5, 0.5]}
    assert ranks(only(across(studies([partly, never])))) == {"rope": "1.00", "t5": "2.00"}


def test_it_takes_two_tasks_and_two_encodings(studies: Studies) -> None:
    assert across([]) == []
    assert across(studies([{"rope": [0.9], "t5": [0.5]}])) == []
    assert across(studies([{"rope": [0.9]}, {"rope": [0.9]}])) == []
    (section,) = across(studies([{"rope": [0.9], "t5": [0.5]}, {"rope": [0.9]}]))
    assert section.verdict == [
        "Not ranked: no two encodings were tested at all of task000, task001."
    ]
    assert section.tables == []


def test_models_are_ranked_apart(studies: Studies) -> None:
    scores = [{"rope": [0.9], "t5": [0.5]}] * 2
    several = studies(scores) + studies(scores, model="decoder")
    assert [section.title for section in across(several)] == [
        "Across tasks, encoder",
        "Across tasks, decoder",
    ]


def test_tasks_that_were_not_tested_beyond_are_left_aside(planted: Planted, found: Read) -> None:
    rows = [
        row
        for task, lengths in {"a": (20, 25), "b": (20, 25), "c": (5, 20)}.items()
        for encoding in ("rope", "t5")
        for row in planted(dict.fromkeys(lengths, 1.0), task=task, encoding=encoding)
    ]
    section = only(across(panels(found(rows))))
    assert "at 2 tasks (a, b)" in section.verdict[0]


def test_of_several_evaluations_of_a_task_that_with_the_most_runs_counts(
    planted: Planted, found: Read
) -> None:
    rows = []
    for task in "ab":
        for encoding, score in {"rope": 0.9, "t5": 0.5}.items():
            for seed in range(2):
                rows += planted({20: 1.0, 25: score}, task=task, encoding=encoding, seed=seed)
            rows += planted({20: 1.0, 24: 1 - score}, task=task, encoding=encoding, evaluation="e1")
    section = only(across(panels(found(rows))))
    assert ranks(section) == {"rope": "1.00", "t5": "2.00"}
    assert "at 2 tasks (a, b)" in section.verdict[0]


@pytest.mark.parametrize(
    ("tasks", "encodings", "said"),
    [
        (2, 2, "Too few encodings for Friedman's test."),
        (2, 3, "Friedman's test over these tasks: p = 0.17, no difference between the ranks"),
        (4, 3, "Friedman's test over these tasks: p = 0.0046, the ranks differ."),
    ],
)
def test_whether_encodings_differ_is_asked_of_their_ranks(
    studies: Studies, tasks: int, encodings: int, said: str
) -> None:
    scores = {f"e{k}": [0.9 - 0.1 * k] for k in range(encodings)}
    section = only(across(studies([scores] * tasks)))
    assert section.verdict[1].startswith(said)
