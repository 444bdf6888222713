import pytest

from posenc.errors import ConfigError
from posenc.tasks.odds_first import OddsFirst


@pytest.mark.parametrize(
    ("prompt", "odd", "even"),
    [
        ([1], [1], [1]),
        ([3, 4], [3, 4], [4, 3]),
        ([1, 2, 3], [1, 3, 2], [2, 1, 3]),
        ([1, 2, 3, 4, 5, 6], [1, 3, 5, 2, 4, 6], [2, 4, 6, 1, 3, 5]),
    ],
)
def test_by_hand(prompt, odd, even):
    assert OddsFirst(symbols=7).solve(prompt) == odd
    assert OddsFirst(symbols=7, first="even").solve(prompt) == even


def test_the_published_table():
    """aaabaa gives aaaaba in the paper, against its code."""
    a, b = 0, 1
    assert OddsFirst().solve([a, a, a, b, a, a]) == [a, a, a, a, b, a]


def test_a_half_that_is_none():
    with pytest.raises(ConfigError, match=r"task\.first=left: choose one of odd, even"):
        OddsFirst(first="left")
