import pytest

from posenc.tasks.even_pairs import EvenPairs


@pytest.mark.parametrize(
    ("prompt", "odd"),
    [("0", 0), ("1", 0), ("00", 0), ("01", 1), ("10", 1), ("11", 0), ("010", 0), ("0110100", 0)],
)
def test_by_hand(prompt, odd):
    assert EvenPairs().solve([int(bit) for bit in prompt]) == [odd]


@pytest.mark.parametrize(("length", "right"), [(1, 2), (2, 4), (3, 6), (4, 10), (5, 20)])
def test_chance_by_hand(length, right):
    assert EvenPairs().chance(length) == (right / 2**length, right / 2**length)
