import pytest
from hypothesis import given
from hypothesis import strategies as st

from posenc.results.statistics import fitted, holds_to, score, trained_mean, wilson

shares = st.floats(0, 1)


def test_score_by_hand() -> None:
    # Trained to 2; 3 lies halfway between the points at 2 and 4, and 5 and 6 follow.
    assert score([1, 2, 4, 6], [0.3, 1.0, 0.5, 0.1], 2) == pytest.approx(
        (0.75 + 0.5 + 0.3 + 0.1) / 4
    )


def test_score_of_a_curve_given_at_every_length_is_its_mean_beyond() -> None:
    assert score([1, 2, 3, 4], [1.0, 1.0, 0.6, 0.2], 2) == pytest.approx(0.4)


def test_score_passes_through_the_trained_limit_where_it_is_no_grid_point() -> None:
    # On the line from 0.9 at 3 to 0.5 at 7: 5, 6 and 7 have 0.7, 0.6 and 0.5.
    assert score([3, 7], [0.9, 0.5], 4) == pytest.approx((0.7 + 0.6 + 0.5) / 3)


def test_score_is_level_up_to_the_first_point_where_none_is_trained() -> None:
    assert score([4, 6], [0.8, 0.2], 2) == pytest.approx((0.8 + 0.8 + 0.5 + 0.2) / 4)


def test_score_takes_no_longer_for_longer_lengths() -> None:
    assert score([20, 10**15], [1.0, 0.0], 20) == pytest.approx(0.5)


@pytest.mark.parametrize("lengths", [[], [5], [5, 20]])
def test_no_score_without_a_longer_length(lengths: list[int]) -> None:
    assert score(lengths, [1.0] * len(lengths), 20) is None


@given(st.sets(st.integers(1, 60), min_size=1), shares, st.integers(0, 30))
def test_score_of_a_level_curve_is_its_level(
    lengths: set[int], level: float, train_max: int
) -> None:
    result = score(sorted(lengths), [level] * len(lengths), train_max)
    assert (result is None) == (max(lengths) <= train_max)
    assert result is None or result == pytest.approx(level)


@pytest.mark.parametrize(
    ("exact", "expected"),
    [
        ([1.0, 0.95, 0.9], 15),
        ([1.0, 0.89, 1.0], 5),
        ([0.89, 1.0, 1.0], None),
    ],
)
def test_holds_to_stops_at_the_first_failure(exact: list[float], expected: int | None) -> None:
    assert holds_to([5, 10, 15], exact) == expected


def test_fitted_looks_at_the_mean_of_trained_lengths_alone() -> None:
    in_range = [True, True, False]
    assert fitted([1.0, 0.8, 0.0], in_range)
    assert not fitted([1.0, 0.79, 1.0], in_range)
    assert trained_mean([1.0, 0.5, 0.0], in_range) == 0.75


def test_a_run_without_trained_lengths_is_not_vouched_for() -> None:
    assert not fitted([1.0, 1.0], [False, False])
    assert trained_mean([1.0], [False]) is None


def test_wilson_by_its_formula() -> None:
    z, n, p = 1.959963984540054, 100, 0.8
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    assert wilson(80, 100) == pytest.approx((centre - half, centre + half))


@given(st.integers(1, 3000), st.data())
def test_wilson_holds_the_share_and_has_a_width(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert high > low
