import pytest

from posenc.tasks.repeat_twice import RepeatTwice


def test_by_hand():
    assert RepeatTwice().solve([7]) == [7, 7]
    assert RepeatTwice().solve([7, 7, 7]) == [7, 7, 7, 7, 7, 7]
    assert RepeatTwice(symbols=8).chance(12) == (1 / 8, 1 / 8)


def test_two_symbols_are_refused():
    with pytest.raises(ValueError, match="one token"):
        RepeatTwice().solve([7, 8])
