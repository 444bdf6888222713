"""The numbers that the tables of a report show."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posenc.results import inference
from posenc.results.comparing import ALL, GATED, against
from posenc.results.document import Table
from posenc.results.panels import Panel, panels
from posenc.results.reading import Found, Skipped, read
from posenc.results.tables import (
    columns,
    comparison_table,
    cost_table,
    rank_table,
    results_table,
    runs_table,
    skipped_table,
)

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
Study = Callable[..., Panel]
WriteRun = Callable[..., Path]

GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 30: 0.4}
BETTER = {5: 1.0, 20: 1.0, 25: 1.0, 30: 0.8}
UNFITTED = {5: 0.5, 20: 0.5, 25: 0.5, 30: 0.5}


def texts(table: Table) -> list[list[str]]:
    rows = [*table.rows, *table.foot]
    return [[cell.text.replace("\xa0", " ") for cell in row] for row in rows]


def column(table: Table, head: str) -> dict[str, str]:
    """First cell of a row -> its cell in that column."""
    place = [each.replace("\xa0", " ") for each in table.head].index(head)
    return {row[0]: row[place] for row in texts(table)}


@pytest.fixture
def only(found: Read) -> Callable[..., Panel]:
    """The one panel of rows."""

    def build(rows: list[dict[str, Any]]) -> Panel:
        [panel] = panels(found(rows))
        return panel

    return build


def test_results_are_shown_best_first_and_the_weak_are_marked(
    planted: Planted, only: Callable[..., Panel]
) -> None:
    panel = only(
        [
            *planted(GOOD, seed=0),
            *planted(GOOD, seed=1),
            *planted(BETTER, positions="random"),
            *planted(UNFITTED, encoding="none"),
        ]
    )
    table = results_table(panel, ["A remark."])
    low, high = inference.mean_interval([0.77, 0.77], problems=100) or (0, 0)
    interval = f"{low:.2f} to {high:.2f}"
    assert table.head[:5] == ["encoding", "fitted", "in range", "just beyond", "at 30"]
    assert texts(table) == [
        ["rope + random", "1/1", "1.00", "1.00", "0.80", "25", "0.94", "one seed", "0.94", "0.94"],
        ["rope", "2/2", "1.00", "0.90", "0.40", "25", "0.77", interval, "0.77", "0.77"],
        ["none", "0/1", "(0.50)", "(0.50)", "(0.50)", "–", "–", "–", "–", "0.50"],
        ["chance", "", "0.50", "0.50", "0.50", "", "0.50", "", "", ""],
    ]
    assert table.notes == [
        "A remark.",
        "100 problems a length, which alone leave up to ±0.096 open (95 %).",
        "In parentheses: not one run is fitted; means over all of them.",
        "One seed is not a result.",
    ]


def test_strong_results_carry_no_warning(study: Study) -> None:
    table = results_table(study({"rope": [0.5, 0.6]}), [])
    assert [note.partition(",")[0] for note in table.notes] == ["100 problems a length"]


def test_means_are_those_of_fitted_runs_and_all_runs_stand_beside(study: Study) -> None:
    table = results_table(study({"rope": [0.9, 0.7, 0.2]}, unfitted={"rope": [2]}), [])
    assert column(table, "fitted")["rope"] == "2/3"
    assert column(table, "score")["rope"] == "0.80"
    assert column(table, "best seed")["rope"] == "0.90"
    assert column(table, "all runs")["rope"] == "0.60"
    assert column(table, "in range")["rope"] == "1.00"


def test_numbers_are_kept_for_sorting(study: Study) -> None:
    [row] = results_table(study({"rope": [0.9, 0.7]}), []).rows
    assert [cell.value for cell in row[:6]] == [None, 1.0, 1.0, pytest.approx(0.8), 20, 0.8]


def test_tokens_are_shown_where_answers_have_several(
    planted: Planted, only: Callable[..., Panel]
) -> None:
    rows = planted(GOOD, token_accuracy=0.75, token_chance=0.25)
    table = results_table(only(rows), [])
    assert column(table, "token score") == {"rope": "0.75", "chance": "0.25"}
    assert "token score" not in results_table(only(planted(GOOD)), []).head


def test_a_mask_that_tells_order_is_marked(study: Study) -> None:
    scores = {"none": [0.9, 0.9], "rope": [0.8, 0.8]}
    table = results_table(study(scores, model="decoder"), [])
    assert [row[0].text for row in table.rows] == ["none *", "rope"]
    assert table.notes[-1] == "*: the causal mask itself tells order."
    assert results_table(study(scores), []).rows[0][0].text == "none"


@pytest.mark.parametrize(
    ("lengths", "train_max", "expected"),
    [
        (
            [5, 10, 15, 20, 25, 30, 40, 60, 80, 100],
            20,
            {"in range": 4, "just beyond": 1, "2x: 40": 1, "5x: 100": 1},
        ),
        (
            [5, 20, 21, 23, 25, 26, 43, 45, 120],
            20,
            {"in range": 2, "just beyond": 3, "2x: 43": 1, "at 120": 1},
        ),
        ([5, 20, 30], 20, {"in range": 2, "at 30": 1}),
        ([5, 20], 20, {"in range": 2}),
        ([40, 60], 20, {"2x: 40": 1, "at 60": 1}),
        ([25], 20, {"just beyond": 1}),
    ],
)
def test_columns_are_stretches_of_tested_lengths(
    planted: Planted,
    only: Callable[..., Panel],
    lengths: list[int],
    train_max: int,
    expected: dict[str, int],
) -> None:
    found = columns(only(planted(dict.fromkeys(lengths, 1.0), train_max)))
    assert {stretch.head: len(stretch.places) for stretch in found} == expected


def test_a_comparison_says_what_it_rests_on(study: Study) -> None:
    scores = {
        "alibi": [0.9, 0.8, 0.9, 0.9, 0.95, 0.9],
        "rope": [0.5, 0.4, 0.6, 0.5, 0.55, 0.5],
        "t5": [0.5, 0.4, 0.6, 0.5, 0.55, 0.44],
        "fire": [0.5, 0.1],
        "none": [0.0] * 6,
    }
    panel = study(scores, unfitted={"none": range(6)})
    rival = panel.named("rope")
    assert rival is not None
    others = [contender for contender in panel.contenders if contender is not rival]
    table = comparison_table("Against rope", against(rival, others, GATED), GATED, pairs=3)
    assert texts(table) == [
        ["alibi", "6", "+0.383", "+0.350 to +0.400", "0.0312", "0.0312", "0.0938", "1.00", "above"],
        ["t5", "6", "−0.010", "−0.030 to +0.000", "1", "0.0312", "1", "0.46", "equivalent"],
        ["fire", "2", "−0.150", "–", "1", "0.5", "1", "0.21", "undecided"],
        ["none", "0", "–", "–", "–", "–", "–", "–", "not fitted"],
    ]
    assert table.notes == [
        "Holm: for 3 pairs. Better or worse takes 0.05 there, so 7 seeds or more."
    ]
    everywhere = comparison_table("", against(rival, others, ALL), ALL, pairs=4)
    assert texts(everywhere)[-1][-1] == "below"


def test_steps_are_timed_against_one_contender_on_one_machine(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(BETTER), train_seconds=10.0)
    write_run(planted(BETTER, seed=1), train_seconds=30.0, host="there")
    write_run(planted(GOOD, encoding="t5"), train_seconds=60.0, host="there", parameters=99)
    write_run(planted(UNFITTED, encoding="fire"), host="elsewhere", parameters=None)
    [panel] = panels(read([tmp_path]))
    table = cost_table(panel, panel.contenders[0])
    assert texts(table) == [["rope", "1,234", "1.00"], ["t5", "99", "2.00"], ["fire", "–", "–"]]


def test_steps_are_timed_against_those_of_runs_that_are_as_long(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(BETTER), train_seconds=20.0, trained_steps=2000)
    write_run(planted(BETTER, seed=1), train_seconds=1.5, trained_steps=50)
    write_run(planted(GOOD, encoding="t5"), train_seconds=4.5, trained_steps=50)
    write_run(planted(UNFITTED, encoding="fire"), train_seconds=9.0, trained_steps=100)
    [panel] = panels(read([tmp_path]))
    table = cost_table(panel, panel.contenders[0])
    assert [row[2] for row in texts(table)] == ["1.00", "3.00", "–"]


def test_ranks_stand_with_their_intervals(study: Study) -> None:
    table = rank_table([("rope", 3, [(1.5, 1.0, 2.0), (4 / 3, 1.0, 1.5)])])
    assert texts(table) == [["rope", "3", "1.50", "1.00 to 2.00", "1.33", "1.00 to 1.50"]]


def test_every_run_has_a_row_with_its_folder(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    first = write_run(planted(GOOD, seed=1))
    write_run(planted(UNFITTED, seed=0))
    write_run(planted({5: 1.0, 20: 1.0}, task="copy"))
    table = runs_table(panels(read([tmp_path])))
    assert texts(table) == [
        ["copy, encoder", "rope", "seed 0", "fitted", "1.00", "–", "–", "20"],
        ["who_bit_whom, encoder", "rope", "seed 0", "not fitted", "0.50", "0.50", "0.50", "–"],
        ["who_bit_whom, encoder", "rope", "seed 1", "fitted", "1.00", "0.77", "0.77", "25"],
    ]
    assert table.rows[2][2].link == first
    assert table.rows[2][2].value == 1


def test_runs_of_kept_rows_have_no_folder(study: Study) -> None:
    [[*_, run, _, _, _, _, _]] = runs_table([study({"rope": [0.5]})]).rows
    assert (run.text, run.link) == ("seed 0", None)


def test_what_is_left_out_is_linked(tmp_path: Path) -> None:
    folder, file = tmp_path / "seed0-f0", tmp_path / "lengths.csv"
    folder.mkdir()
    table = skipped_table([Skipped(folder, "failed"), Skipped(file, "is damaged")])
    assert texts(table) == [["seed0-f0", "failed"], ["lengths.csv", "is damaged"]]
    assert [row[0].link for row in table.rows] == [folder, tmp_path]
