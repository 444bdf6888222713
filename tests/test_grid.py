"""The lengths that are evaluated when nobody names them."""

import pytest

from posenc.grid import evaluation_lengths, probe_lengths
from posenc.tasks.reverse import Reverse
from posenc.tasks.who_bit_whom import WhoBitWhom


class Even(Reverse):
    """Defined at even lengths alone."""

    def lengths(self, low, high):
        return [n for n in super().lengths(low, high) if n % 2 == 0]


def test_the_default_grid():
    grid = evaluation_lengths(WhoBitWhom(), 5, 20, 100)
    assert grid == [5, 10, 15, 20, 25, 30, 40, 60, 80, 100]
    assert probe_lengths(WhoBitWhom(), 5, 20, 100) == [20, 40, 100]


@pytest.mark.parametrize(
    ("low", "trained", "tested", "grid"),
    [
        (1, 40, 500, [1, 10, 20, 30, 40, 50, 60, 80, 120, 160, 200, 300, 400, 500]),
        (1, 7, 16, [1, 3, 5, 7, 8, 10, 14, 16]),  # 7/4, 14/4 and 21/4 are lowered
        (6, 8, 8, [6, 8]),
        (1, 1, 1, [1]),
        (20, 20, 33, [20, 25, 30, 33]),
    ],
)
def test_grids_by_hand(low, trained, tested, grid):
    assert evaluation_lengths(Reverse(), low, trained, tested) == grid


def test_only_legal_lengths():
    assert evaluation_lengths(Even(), 3, 10, 21) == [4, 6, 10, 12, 14, 20]
    assert probe_lengths(Even(), 3, 11, 21) == [10, 20]


@pytest.mark.parametrize("make", [evaluation_lengths, probe_lengths])
def test_every_grid_is_sorted_legal_and_reaches_both_ends(make):
    for low in (1, 2, 5, 19):
        for trained in (low, low + 1, 3 * low, 50):
            for tested in (trained, trained + 1, 4 * trained, 500):
                if not low <= trained <= tested:
                    continue
                grid = make(Reverse(), low, trained, tested)
                assert grid == sorted(set(grid))
                assert set(grid) <= set(range(low, tested + 1))
                assert {trained, tested} <= set(grid)
                if make is evaluation_lengths:
                    assert grid[0] == low
