import pytest

from posenc.errors import ConfigError
from posenc.tasks.bucket_sort import BucketSort


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [([3], [3]), ([4, 0], [0, 4]), ([2, 2, 1], [1, 2, 2]), ([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])],
)
def test_by_hand(prompt, answer):
    assert BucketSort().solve(prompt) == answer


def test_chance_by_hand():
    """Sorted pairs of two symbols: 00 once, 01 twice, 11 once; each slot is right in 3 of 4."""
    assert BucketSort(symbols=2).chance(2) == pytest.approx((1 / 2, 3 / 4))
    assert BucketSort().chance(1) == pytest.approx((1 / 5, 1 / 5))
    assert BucketSort().chance(5).exact == 120 / 5**5


def test_one_symbol_is_too_few():
    with pytest.raises(ConfigError, match=r"task\.symbols=1"):
        BucketSort(symbols=1)
