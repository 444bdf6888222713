"""The tables that an evaluation keeps beside lengths.csv: accuracy by place, a grid of two sizes,
bits by place."""

import math
from pathlib import Path
from statistics import fmean

import pytest
from command_line import TINY, rows, run

from posenc.results.details import BITS, GRID, PLACES
from posenc.results.records import COLUMNS


def folder_of(outputs: Path) -> Path:
    (found,) = outputs.glob("*/*/seed*")
    return found


def test_accuracy_by_place_averages_to_token_accuracy(tmp_path: Path) -> None:
    setup = ("task=copy", "task.symbols=2", "positions=random", "positions.draws=2",
             "length.test=100", "eval.lengths=[5,100]")  # fmt: skip
    ended = run(*TINY, *setup, "model=decoder", f"outputs={tmp_path}")
    assert ended.code == 0, ended.err
    folder = folder_of(tmp_path)
    places = rows(folder / "places.csv")
    assert tuple(places[0]) == PLACES
    for row in rows(folder / "lengths.csv"):
        own = [place for place in places if place["length"] == row["length"]]
        starts = range(0, int(row["length"]), 2)  # 100 places are more than 64 stretches of one
        assert [int(place["place"]) for place in own] == list(starts)
        assert [int(place["last"]) for place in own] == [
            min(first + 1, int(row["length"]) - 1) for first in starts
        ]
        tokens = [int(place["tokens"]) for place in own]
        assert sum(tokens) == 2 * 16 * int(row["length"])
        right = [float(place["token_accuracy"]) for place in own]
        assert len(set(right)) > 1
        mean = sum(map(math.prod, zip(right, tokens, strict=True))) / sum(tokens)
        assert mean == pytest.approx(float(row["token_accuracy"]))


def test_bits_by_place_average_to_the_loss(tmp_path: Path) -> None:
    ended = run("task=stream", "model=decoder", f"outputs={tmp_path}", *TINY)
    assert ended.code == 0, ended.err
    folder = folder_of(tmp_path)
    bits, lengths = rows(folder / "bits.csv"), rows(folder / "lengths.csv")
    assert tuple(bits[0]) == BITS
    assert [int(row["place"]) for row in bits] == list(range(23))
    assert {row["length"] for row in bits} == {"24"}
    loss = float(lengths[-1]["loss"]) / math.log(2)
    assert fmean(float(row["bits"]) for row in bits) == pytest.approx(loss, rel=1e-5)
    best = [float(row["best"]) for row in bits]
    assert max(best) > min(best) > 0
    assert "bits a token at length 24" in ended.out
    assert "21 to 23" in ended.out


def test_answers_of_one_token_have_rows_and_nothing_else(tmp_path: Path) -> None:
    assert run("task=parity", f"outputs={tmp_path}", *TINY).code == 0
    assert {path.name for path in folder_of(tmp_path).glob("*.csv")} == {"lengths.csv"}


def test_a_grid_has_every_length_with_every_second_size(tmp_path: Path) -> None:
    setup = ("task=addition", "task.second=any", f"outputs={tmp_path}", "eval.lengths=[3,8]", *TINY)
    assert run(*setup).code == 0
    folder = folder_of(tmp_path)
    assert not list(folder.glob("grid*"))
    ended = run(*setup, "eval.second=[1,8,12]")
    assert ended.code == 0, ended.err
    (path,) = folder.glob("grid-*.csv")
    grid = rows(path)
    assert tuple(grid[0]) == GRID == (*COLUMNS, "second")
    pairs = [(int(row["second"]), int(row["length"])) for row in grid]
    assert pairs == [(second, length) for second in (1, 8, 12) for length in (3, 8)]
    assert {row["n"] for row in grid} == {"16"}
    assert all(0 <= float(row["exact"]) <= 1 for row in grid)
    assert len({row["loss"] for row in grid}) == len(grid)
    assert "exact match, by length (that of the first number)" in ended.out
    again = run(f"run={folder}", "eval.second=[1,8,12]", "eval.lengths=[3,8]", "eval.samples=16",
                script="scripts/evaluate.py")  # fmt: skip
    assert "exact match, by length (that of the first number)" in again.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("task=copy", "eval.second=[3]"), "eval.second=[3]: problems of this task have one size"),
        (
            ("task=addition", "eval.second=[]"),
            "eval.second=[]: name sizes from 1 to 1048576, or null",
        ),
        (
            ("task=addition", "eval.second=[0]"),
            "eval.second=[0]: name sizes from 1 to 1048576, or null",
        ),
        (
            ("task=addition", "encoding=learned", "encoding.max_length=80", "eval.second=[90]"),
            "encoding.max_length=80: positions=index and encoding=learned need",
        ),
    ],
)
def test_a_size_that_cannot_be_is_refused_in_one_line(
    arguments: tuple[str, ...], part: str, tmp_path: Path
) -> None:
    ended = run(*TINY, *arguments, f"outputs={tmp_path}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert part in ended.err
    assert not list(tmp_path.iterdir())


def test_how_many_problems_a_row_rests_on_is_told_where_it_differs(tmp_path: Path) -> None:
    ended = run("task=file", f"outputs={tmp_path}", *TINY, "length.test=30", "eval.samples=2048")
    assert ended.code == 0, ended.err
    table = rows(folder_of(tmp_path) / "lengths.csv")
    found = {row["length"]: row["n"] for row in table}
    assert len(set(found.values())) > 1
    assert "problems" in ended.out
    for line in ended.out.splitlines():
        if (words := line.split()) and words[0] in found and words[1] in ("trained", "beyond"):
            assert words[-1] == found[words[0]]
    other = run("task=parity", f"outputs={tmp_path}", *TINY)
    assert "problems" not in other.out.partition("run folder")[0].partition("exact")[2]


def test_very_long_problems_are_announced(tmp_path: Path) -> None:
    short = ("length.train=6", "length.test=6", "eval.lengths=[6]", "eval.probe_lengths=[5]")
    ended = run("task=parity", f"outputs={tmp_path}", *TINY, "length.test=5000",
                "eval.lengths=[5000]", "eval.samples=1")  # fmt: skip
    assert "length 5000 has 5001 tokens: to test it may take long" in ended.out + ended.err
    ended = run("task=parity", f"outputs={tmp_path}", *TINY, *short)
    assert "may take long" not in ended.out + ended.err
