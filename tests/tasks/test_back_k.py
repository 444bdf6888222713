import pytest

from posenc.errors import ConfigError
from posenc.tasks.back_k import BackK


@pytest.mark.parametrize(("k", "symbol"), [(1, 8), (2, 6), (3, 5), (4, 3)])
def test_by_hand(k, symbol):
    assert BackK(k=k).solve([3, 5, 6, 8]) == [symbol]


def test_chance_by_hand():
    """Of two symbols, 00 and 11 tell the answer, 01 and 10 do not."""
    assert BackK(symbols=2, k=2).chance(2) == pytest.approx((3 / 4, 3 / 4))


def test_shorter_strings_have_no_such_symbol():
    task = BackK(k=4)
    assert task.lengths(1, 6) == [4, 5, 6]
    with pytest.raises(ValueError, match="fewer than 4"):
        task.solve([1, 2, 3])


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_place_that_cannot_be(k):
    with pytest.raises(ConfigError, match=rf"task\.k={k}: must be a whole number, at least 1"):
        BackK(k=k)
