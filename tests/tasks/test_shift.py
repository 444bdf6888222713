import pytest

from posenc.errors import ConfigError
from posenc.tasks.shift import Shift


@pytest.mark.parametrize(
    ("k", "shifted"),
    [
        (1, [2, 3, 4, 1]),
        (2, [3, 4, 1, 2]),
        (3, [4, 1, 2, 3]),
        (4, [1, 2, 3, 4]),
        (9, [2, 3, 4, 1]),
    ],
)
def test_by_hand(k, shifted):
    assert Shift(k=k).solve([1, 2, 3, 4]) == shifted
    assert Shift(k=k).pose([1, 2, 3, 4]).answer.tolist() == [shifted]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_a_shift_that_cannot_be(k):
    with pytest.raises(ConfigError, match=rf"task\.k={k}: must be a whole number, at least 1"):
        Shift(k=k)
