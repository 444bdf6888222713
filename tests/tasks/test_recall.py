"""Draws of numbers that are all different."""

import pytest

from posenc.seeding import generator
from posenc.tasks.shared.recall import all_different


@pytest.mark.parametrize("below", [4, 3, 2])
def test_all_pairs_of_different_numbers_are_as_likely(below):
    drawn = all_different(12_000, 2, below, generator(0, "different"))
    outcomes, counts = drawn.unique(dim=0, return_counts=True)
    expected = below * (below - 1)
    assert len(outcomes) == expected
    assert (outcomes[:, 0] != outcomes[:, 1]).all()
    mean = 12_000 / expected
    assert (counts - mean).abs().max() < 4 * mean**0.5


@pytest.mark.parametrize(("count", "below"), [(30, 60), (60, 60), (1, 1), (8, 5000)])
def test_none_comes_twice(count, below):
    drawn = all_different(200, count, below, generator(0, "different"))
    assert drawn.shape == (200, count)
    assert (drawn.sort(dim=1).values.diff(dim=1) > 0).all()
    assert 0 <= drawn.min() <= drawn.max() < below
