import pytest

from posenc.tasks.duplicate_string import DuplicateString
from posenc.tasks.reverse import Reverse


def test_by_hand():
    assert DuplicateString().solve([1]) == [1, 1]
    assert DuplicateString().solve([0, 1, 1]) == [0, 1, 1, 0, 1, 1]


def test_a_second_copy_adds_no_uncertainty():
    assert DuplicateString().chance(2) == pytest.approx((3 / 4, 6 / 8))
    assert DuplicateString().chance(40) == Reverse().chance(40)
