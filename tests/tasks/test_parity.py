import pytest

from posenc.tasks.parity import Parity


@pytest.mark.parametrize(
    ("prompt", "odd"), [("0", 0), ("1", 1), ("11", 0), ("10", 1), ("0111", 1), ("1111", 0)]
)
def test_by_hand(prompt, odd):
    assert Parity().solve([int(bit) for bit in prompt]) == [odd]
