import pytest

from posenc.tasks.copy import Copy
from posenc.tasks.copy_twice import CopyTwice

NEXT = 100


def test_by_hand():
    assert CopyTwice().solve([8]) == [8, NEXT, 8]
    assert CopyTwice().solve([99, 0, 99]) == [99, 0, 99, NEXT, 99, 0, 99]


def test_next_is_always_right():
    exact, token = Copy().chance(20)
    assert CopyTwice().chance(20) == pytest.approx((exact, (40 * token + 1) / 41))
