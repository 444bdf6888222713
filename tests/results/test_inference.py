"""Against hand-computed values, independent references and planted truths."""

import itertools
import math
from collections.abc import Iterator
from statistics import fmean

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from posenc.results import gaffke, inference
from posenc.results.inference import (
    difference_interval,
    friedman,
    holm,
    mean_interval,
    mean_or_last,
    mean_ranks,
    ranks,
    shuffle_test,
    sign_flip,
    smallest_p,
    superiority,
)
from posenc.results.statistics import wilson

MANY = 10**6
"""Problems a length: so many that what they leave open does not matter."""

share = st.floats(0, 1)
gap = st.integers(-20, 20).map(lambda k: k / 20)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def noise(studies: int, chance: float = 0.05) -> float:
    """Three standard errors of a share that is simulated."""
    return 3 * math.sqrt(chance * (1 - chance) / studies)


def t_interval(values: np.ndarray) -> tuple[float, float]:
    n = len(values)
    half = scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
    return values.mean() - half, values.mean() + half


# --- the mean of one encoding ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.01])
def test_gaffke_of_solved_or_not_is_clopper_and_pearson(n: int, alpha: float) -> None:
    for k in range(n + 1):
        exact = scipy.stats.binomtest(k, n).proportion_ci(1 - alpha, method="exact")
        found = gaffke.interval([1.0] * k + [0.0] * (n - k), alpha)
        assert found == pytest.approx((exact.low, exact.high), abs=1e-8)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_gaffke_against_random_weights(n: int, rng: np.random.Generator) -> None:
    """The naive twin: the definition itself, drawn."""
    values = np.sort(rng.beta(0.5, 0.3, n))
    weights = rng.dirichlet(np.ones(n + 1), 100_000)
    low, high = gaffke.interval(values.tolist(), 0.05)
    assert np.mean(weights @ [*values, 1.0] > high) == pytest.approx(
        0.025, abs=noise(100_000, 0.025)
    )
    assert np.mean(weights @ [0.0, *values] < low) == pytest.approx(
        0.025, abs=noise(100_000, 0.025)
    )


@pytest.mark.parametrize("t", [0.05, 0.3, 0.5, 0.71, 0.95])
def test_the_chance_is_the_divided_difference_of_a_power(t: float) -> None:
    points = [0.0, 0.1, 0.4, 0.5, 0.9, 1.0]
    degree = len(points) - 1
    by_formula = sum(
        max(0.0, x - t) ** degree / math.prod(x - y for y in points if y != x) for x in points
    )
    assert gaffke.exceeds(points, t) == pytest.approx(by_formula, abs=1e-12)


def test_of_two_points_the_chance_is_a_line_and_of_equal_ones_a_step() -> None:
    assert gaffke.exceeds([0.2, 0.6], 0.3) == pytest.approx(0.75)
    assert gaffke.exceeds([0.5] * 4, 0.5) == 0
    assert gaffke.exceeds([0.5] * 4, 0.49) == 1


@given(st.lists(share, min_size=1, max_size=30), st.floats(1e-17, 1e-9))
def test_gaffke_does_not_mind_points_that_nearly_meet(values: list[float], apart: float) -> None:
    near = [min(1.0, value + k * apart) for k, value in enumerate(values)]
    assert gaffke.interval(near, 0.05) == pytest.approx(gaffke.interval(values, 0.05), abs=1e-7)


@given(st.lists(share, min_size=1, max_size=12))
def test_gaffke_holds_the_mean_and_turns_round_with_its_values(values: list[float]) -> None:
    low, high = gaffke.interval(values, 0.05)
    assert 0 <= low <= fmean(values) + 1e-9
    assert fmean(values) - 1e-9 <= high <= 1
    mirrored = gaffke.interval([1 - value for value in values], 0.05)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-8)


@given(st.lists(share, min_size=2, max_size=12), st.data())
def test_gaffke_rises_with_a_value(values: list[float], data: st.DataObject) -> None:
    higher = [data.draw(st.floats(value, 1)) for value in values]
    below, above = gaffke.interval(values, 0.05), gaffke.interval(higher, 0.05)
    assert below[0] <= above[0] + 1e-8
    assert below[1] <= above[1] + 1e-8


def test_five_solved_seeds_leave_almost_half_open() -> None:
    """All five would still be solved in 1 of 40 cases if only 0.025 ** (1/5) of all seeds were."""
    assert mean_interval([1.0] * 5, problems=MANY) == (pytest.approx(0.025 ** (1 / 5)), 1.0)


def test_no_interval_from_one_seed() -> None:
    assert mean_interval([], problems=100) is None
    assert mean_interval([0.5], problems=100) is None


def test_few_problems_widen_the_interval() -> None:
    values = [0.5] * 30
    seeds, both = mean_interval(values, problems=MANY), mean_interval(values, problems=1)
    assert seeds == pytest.approx(gaffke.interval(values, 0.05))
    assert both == (min(seeds[0], wilson(15, 30)[0]), max(seeds[1], wilson(15, 30)[1]))
    assert both != seeds


@given(st.lists(share, min_size=2, max_size=8), st.sampled_from([1, 7, 2048]))
def test_mean_interval_is_never_narrower_than_either(values: list[float], problems: int) -> None:
    low, high = mean_interval(values, problems=problems)
    trials = problems * len(values)
    for inner in (gaffke.interval(values, 0.05), wilson(round(sum(values) * problems), trials)):
        assert 0 <= low <= inner[0] + 1e-12
        assert inner[1] - 1e-12 <= high <= 1


def test_mean_interval_takes_the_rounding_of_a_mean_and_nothing_else_outside() -> None:
    above = mean_interval([1.0, math.nextafter(1, 2)], problems=10)
    assert above == mean_interval([1.0, 1.0], problems=10)
    with pytest.raises(ValueError, match=r"in \[0, 1\], not \[0.5, 1.2\]"):
        mean_interval([0.5, 1.2], problems=10)
    with pytest.raises(ValueError, match="finite numbers, not"):
        mean_interval([0.5, math.nan], problems=10)


def covered(low_value: float, high_value: float, solved: float, n: int, interval) -> float:
    """Exact coverage of the mean where a seed has the high value with that chance, else the low."""
    mean, total = low_value + solved * (high_value - low_value), 0.0
    for k in range(n + 1):
        low, high = interval(np.array([high_value] * k + [low_value] * (n - k)))
        if low - 1e-9 <= mean <= high + 1e-9:
            total += scipy.stats.binom.pmf(k, n, solved)
    return total


def ours(values: np.ndarray) -> tuple[float, float]:
    found = mean_interval(values.tolist(), problems=MANY)
    assert found is not None
    return found


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("low", [0.0, 0.4])
@pytest.mark.parametrize("solved", [0.02, 0.2, 0.5, 0.8, 0.95])
def test_mean_interval_covers_where_seeds_are_solved_or_not(
    n: int, low: float, solved: float
) -> None:
    assert covered(low, 1.0, solved, n, ours) >= 0.95


@pytest.mark.parametrize(("n", "solved"), [(3, 0.8), (3, 0.95), (5, 0.8), (5, 0.95), (10, 0.95)])
def test_a_t_interval_does_not_cover_there(n: int, solved: float) -> None:
    assert covered(0.4, 1.0, solved, n, t_interval) < 0.9


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.2, 0.2), (5, 0.3), (0.1, 2), (8, 8)])
def test_mean_interval_covers_the_mean_of_a_beta(
    n: int, a: float, b: float, rng: np.random.Generator
) -> None:
    studies = 1000
    ends = np.array([ours(values) for values in rng.beta(a, b, (studies, n))])
    mean = a / (a + b)
    assert np.mean((ends[:, 0] <= mean) & (mean <= ends[:, 1])) >= 0.95 - noise(studies)


# --- one encoding against another -----------------------------------------------------------------


def brute_p(differences: list[float]) -> float:
    signs = itertools.product([1, -1], repeat=len(differences))
    seen = abs(math.fsum(differences)) - 1e-9
    sums = [abs(math.fsum(s * d for s, d in zip(each, differences, strict=True))) for each in signs]
    return fmean(each >= seen for each in sums)


@given(st.lists(gap, min_size=1, max_size=8))
def test_sign_flip_by_brute_force(differences: list[float]) -> None:
    assert sign_flip(differences) == brute_p(differences)


@pytest.mark.parametrize("differences", [[0.3], [0.3, -0.1, 0.2], [0.0, 0.0, 0.1], [-0.2, -0.4]])
def test_one_sided_by_brute_force(differences: list[float]) -> None:
    sums = [
        sum(sign * size for sign, size in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    as_much = sum(each >= sum(differences) - 1e-9 for each in sums)
    assert inference.sign_flip_above(differences) == as_much / len(sums)


def test_sign_flip_agrees_with_scipy(rng: np.random.Generator) -> None:
    differences = rng.normal(0.3, 1, 9)
    reference = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(differences.tolist()) == pytest.approx(reference.pvalue)


@pytest.mark.parametrize("n", [2, 5, 10])
def test_sign_flip_counts_ties_as_ties(n: int) -> None:
    assert sign_flip([0.1] * n) == smallest_p(n) == 2 / 2**n
    assert sign_flip([0.0] * n) == 1
    assert sign_flip([0.1, 0.2, -0.3]) == 1  # the sum of these is 2.8e-17


@pytest.mark.parametrize("n", [16, 17, 20, 40])
def test_beyond_sixteen_seeds_blocks_are_flipped(n: int) -> None:
    assert sign_flip([0.1 + k / 1000 for k in range(n)]) == smallest_p(n) == 2**-15
    low, high = difference_interval([0.1 + k / 1000 for k in range(n)])
    assert low < 0.1 + (n - 1) / 2000 < high


def test_a_test_of_nothing_or_of_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        sign_flip([])
    for function in (sign_flip, difference_interval):
        with pytest.raises(ValueError, match="nan"):
            function([0.1] * 5 + [math.nan])


def test_difference_interval_by_hand() -> None:
    # 0.1 * 32 / 2 = 1.6: the ends are the first of the 31 means from either side.
    assert difference_interval([0.5, 0.1, 0.2, 0.4, 0.3]) == pytest.approx((0.1, 0.5))
    # 0.1 * 64 / 2 = 3.2: the third from either side. 1, 1.5 and 2; 32, 24 and (8 + 32) / 2.
    assert difference_interval([1, 2, 4, 8, 16, 32]) == pytest.approx((2, 20))
    assert difference_interval([0.5, 0.1, 0.2], confidence=0.5) == pytest.approx((0.15, 0.35))


@pytest.mark.parametrize(("n", "confidence"), [(4, 0.9), (5, 0.95), (1, 0.5), (0, 0.9)])
def test_no_difference_interval_from_too_few(n: int, confidence: float) -> None:
    assert difference_interval([0.1] * n, confidence=confidence) is None
    assert smallest_p(n) > 1 - confidence


@given(st.lists(gap, min_size=2, max_size=9), gap, st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_difference_interval_holds_what_sign_flip_does_not_reject(
    differences: list[float], centre: float, confidence: float
) -> None:
    found = difference_interval(differences, confidence=confidence)
    rejected = sign_flip([each - centre for each in differences]) <= 1 - confidence + 1e-12
    if found is None:
        assert not rejected
    else:
        assert rejected == (not found[0] - 1e-12 <= centre <= found[1] + 1e-12)


@given(st.lists(gap, min_size=5, max_size=9), st.floats(-1, 1), st.floats(0.1, 10))
def test_difference_interval_moves_with_the_differences(
    differences: list[float], shift: float, scale: float
) -> None:
    low, high = difference_interval(differences)
    moved = difference_interval([scale * each + shift for each in differences])
    assert moved == pytest.approx((scale * low + shift, scale * high + shift))
    assert low <= fmean(differences) + 1e-12
    assert high >= fmean(differences) - 1e-12


@pytest.mark.parametrize("n", [5, 8, 20])
@pytest.mark.parametrize("kind", ["normal", "cauchy", "steps"])
def test_difference_interval_covers_the_centre(n: int, kind: str, rng: np.random.Generator) -> None:
    studies = 2000 if n < 16 else 200
    draws = {
        "normal": lambda size: rng.normal(size=size),
        "cauchy": lambda size: rng.standard_cauchy(size),
        "steps": lambda size: rng.integers(-1, 2, size),
    }[kind]((studies, n))
    ends = np.array([difference_interval((0.3 + each).tolist()) for each in draws])
    inside = (ends[:, 0] <= 0.3 + 1e-12) & (ends[:, 1] >= 0.3 - 1e-12)
    assert inside.mean() >= 0.9 - noise(studies, 0.1)
    if kind != "steps":
        claimed = 1 - 2 * math.floor(0.05 * 2 ** min(n, 16)) / 2 ** min(n, 16)
        assert inside.mean() <= claimed + noise(studies, 1 - claimed)  # exact, not merely safe


@pytest.mark.parametrize(
    ("given_p", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.9, 0.5], [1.0, 1.0]),
        ([0.02, 0.02], [0.04, 0.04]),
    ],
)
def test_holm_by_hand(given_p: list[float], adjusted: list[float]) -> None:
    assert holm(given_p) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_holm_rejects_what_its_steps_reject(p_values: list[float], level: float) -> None:
    """The procedure as Holm states it: from the least on, until one exceeds its own level."""
    order = np.argsort(p_values, kind="stable")
    rejected = set()
    for step, place in enumerate(order):
        scaled = (len(p_values) - step) * p_values[place]
        assume(scaled == 0 or abs(scaled - level) > 1e-12)
        if scaled > level:
            break
        rejected.add(place)
    found = holm(p_values)
    assert {k for k, p in enumerate(found) if p <= level} >= rejected
    if level < 1:
        assert {k for k, p in enumerate(found) if p <= level} == rejected
    assert all(own <= p <= 1 for own, p in zip(p_values, found, strict=True))


def test_superiority_by_hand() -> None:
    assert superiority([1, 2, 3], [2]) == 0.5
    assert superiority([1, 2], [0, 1]) == (3 + 0.5) / 4
    assert superiority([0.1 + 0.2], [0.3]) == 0.5
    assert superiority([1.0], [0.0]) == 1
    for pair in (([], [1.0]), ([1.0], [])):
        with pytest.raises(ValueError, match="run"):
            superiority(*pair)


@given(st.lists(gap, min_size=1, max_size=9), st.lists(gap, min_size=1, max_size=9))
def test_superiority_is_mann_and_whitneys_u(a: list[float], b: list[float]) -> None:
    u = scipy.stats.mannwhitneyu(a, b, method="asymptotic").statistic
    assert superiority(a, b) == pytest.approx(u / (len(a) * len(b)))
    assert superiority(a, b) + superiority(b, a) == pytest.approx(1)


def null_studies(n: int, studies: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """(6 encodings, n seeds): seeds differ, encodings do not."""
    for _ in range(studies):
        yield rng.uniform(0.3, 0.9, (1, n)) + rng.normal(0, 0.1, (6, n))


@pytest.mark.parametrize("n", [5, 8, 10])
def test_a_null_effect_is_called_significant_in_five_percent_of_studies_at_most(
    n: int, rng: np.random.Generator
) -> None:
    studies = 1000
    called = sum(
        min(holm([sign_flip(own - scores[0]) for own in scores[1:]])) <= 0.05
        for scores in null_studies(n, studies, rng)
    )
    assert called / studies <= 0.05 + noise(studies)
    if n == 5:
        assert smallest_p(5) > 0.05
        assert not called


def test_a_known_effect_is_recovered(rng: np.random.Generator) -> None:
    for scores in null_studies(10, 100, rng):
        scores = scores / 2 + np.array([[0.0], [0.2], [0.0], [0.0], [0.0], [0.0]])
        differences = scores[1:] - scores[0]
        adjusted = holm([sign_flip(own) for own in differences])
        low, high = difference_interval(differences[0])
        assert adjusted[0] <= 0.05
        assert 0 < low < high


# --- several encodings at once --------------------------------------------------------------------


def scipy_shuffle(scores: np.ndarray) -> float:
    result = scipy.stats.permutation_test(
        tuple(scores),
        lambda *own, axis: np.var([each.mean(axis=axis) for each in own], axis=0),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
    )
    return float(result.pvalue)


@pytest.mark.parametrize(("k", "n"), [(2, 5), (3, 4), (4, 2)])
def test_shuffle_test_agrees_with_scipy(k: int, n: int, rng: np.random.Generator) -> None:
    for _ in range(3):
        scores = rng.normal(size=(k, n)) + np.arange(k)[:, None] / 2
        assert shuffle_test(scores) == pytest.approx(scipy_shuffle(scores))


@given(st.lists(gap, min_size=1, max_size=9))
def test_shuffle_test_of_two_is_the_sign_flip(differences: list[float]) -> None:
    theirs = [0.3] * len(differences)
    own = [0.3 + each for each in differences]
    assert shuffle_test([own, theirs]) == pytest.approx(sign_flip(differences))


def test_shuffle_test_by_hand() -> None:
    # Of the 6 * 6 ways to deal two columns, 6 give the same order in both.
    assert shuffle_test([[3, 0.3], [2, 0.2], [1, 0.1]]) == pytest.approx(1 / 6)
    apart = np.array([[3.0], [2.0], [1.0]])
    assert shuffle_test(apart + np.zeros(6)) == pytest.approx(6 / 6**6)
    assert shuffle_test([[0.1, 0.2, 0.7]] * 3) == 1
    assert shuffle_test([[3.0], [2.0], [1.0]]) == 1
    assert shuffle_test([[3.0, 2.0]]) == 1


def test_shuffle_test_counts_ties_as_ties() -> None:
    # The sums 0.1 + 0.2 + 0.7 and 0.7 + 0.2 + 0.1 differ in floating point; the arrangement that
    # was seen is as even as can be, so all others vary as much.
    assert shuffle_test([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]]) == 1


def test_what_is_drawn_agrees_with_what_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(3).normal(size=(3, 5)) + np.array([[0.0], [0.0], [2.0]])
    exact = shuffle_test(scores)
    monkeypatch.setattr(inference, "ARRANGEMENTS", 0)
    drawn = shuffle_test(scores)
    assert 0.01 < exact < 0.5
    assert drawn == pytest.approx(exact, abs=noise(9999, exact))
    assert drawn == shuffle_test(scores)
    assert shuffle_test(np.arange(8.0)[:, None] + np.zeros((8, 5))) == 1 / 10_000


def test_shuffle_test_depends_on_neither_level_nor_spread(rng: np.random.Generator) -> None:
    scores = rng.normal(size=(3, 5)) + np.arange(3)[:, None] / 2
    moved = rng.normal(size=5) + scores / 10**6
    assert shuffle_test(moved) == pytest.approx(shuffle_test(scores))
    with pytest.raises(ValueError, match="nan"):
        shuffle_test([[1.0, math.nan], [0.0, 1.0]])


@pytest.mark.parametrize("kind", ["even", "solved"])
def test_shuffle_test_finds_nothing_in_five_percent_of_null_studies_at_most(
    kind: str, rng: np.random.Generator
) -> None:
    studies = 1000
    draw = {"even": lambda: rng.random((3, 5)), "solved": lambda: rng.integers(0, 2, (3, 5))}[kind]
    found = sum(shuffle_test(draw() + rng.random(5)) <= 0.05 for _ in range(studies))
    assert found / studies <= 0.05 + noise(studies)
    assert found


def test_shuffle_test_finds_what_a_single_pair_of_five_seeds_cannot(
    rng: np.random.Generator,
) -> None:
    means = np.array([[0.9], [0.7], [0.5]])
    for _ in range(50):
        scores = means + rng.normal(0, 0.05, (3, 5))
        assert shuffle_test(scores) <= 0.05 < smallest_p(5)


def test_ranks_by_hand() -> None:
    assert ranks([0.5, 0.9, 0.7]) == [3, 1, 2]
    assert ranks([0.901, 0.899, 0.5]) == [1.5, 1.5, 3]
    assert ranks([0.9, -math.inf, -math.inf]) == [1, 2.5, 2.5]
    assert ranks([]) == []
    with pytest.raises(ValueError, match="no number"):
        ranks([0.5, math.nan])


def test_scores_that_print_alike_tie() -> None:
    for score in (0.295, 0.285, 0.125, 0.005):
        printed = float(f"{score:.2f}")
        assert ranks([score, printed]) == [1.5, 1.5]


@given(st.lists(st.integers(0, 12).map(lambda k: k / 10), min_size=1, max_size=9))
def test_ranks_are_those_of_scipy(scores: list[float]) -> None:
    assert ranks(scores) == scipy.stats.rankdata([-each for each in scores]).tolist()


def test_mean_or_last_counts_what_is_a_number() -> None:
    assert mean_or_last([0.5, math.nan, 0.7]) == pytest.approx(0.6)
    assert mean_or_last([math.nan]) == mean_or_last([]) == -math.inf


def test_mean_ranks_by_hand() -> None:
    tasks = [[[0.9, 0.9], [0.5, 0.5], [0.1, 0.1]], [[0.9], [0.9], [1.0]]]
    # Ranks 1, 2, 3 at the first task and 2.5, 2.5, 1 at the second; no seed can change them.
    expected = [1.75, 2.25, 2.0]
    assert mean_ranks(tasks) == [(mean, mean, mean) for mean in expected]


def test_of_one_seed_a_task_the_ends_are_the_mean(rng: np.random.Generator) -> None:
    for mean, low, high in mean_ranks([rng.random((4, 1)) for _ in range(3)], draws=50):
        assert low == mean == high


def test_the_interval_of_a_mean_rank_holds_it(rng: np.random.Generator) -> None:
    for _ in range(20):
        tasks = np.round(rng.random((6, 12, 2)), 1)
        tasks[rng.random(tasks.shape) < 0.2] = np.nan
        for mean, low, high in mean_ranks(tasks, draws=50):
            assert low <= mean <= high


def test_mean_ranks_draw_seeds_together() -> None:
    """A beats B at every seed, though seeds differ by more than encodings do."""
    tasks = [[[0.9, 0.5, 0.1], [0.8, 0.4, 0.0]]]
    assert mean_ranks(tasks) == [(1, 1, 1), (2, 2, 2)]


def test_mean_ranks_against_a_naive_bootstrap(rng: np.random.Generator) -> None:
    tasks = [rng.normal(size=(3, n)) + np.array([[0.8], [0.0], [0.2]]) for n in (5, 8)]
    totals = []
    for _ in range(2000):
        drawn = [task[:, rng.integers(0, task.shape[1], task.shape[1])] for task in tasks]
        totals.append(np.mean([ranks(own.mean(axis=1).tolist()) for own in drawn], axis=0))
    found = mean_ranks(tasks)
    assert [row[0] for row in found] == pytest.approx(
        np.mean([ranks(task.mean(axis=1).tolist()) for task in tasks], axis=0)
    )
    ends = np.quantile(totals, [0.025, 0.975], axis=0).T
    assert np.abs(ends - [row[1:] for row in found]).max() <= 0.5  # a step of a mean of two ranks
    assert found == mean_ranks(tasks)
    assert any(low < mean < high for mean, low, high in found)


def test_mean_ranks_draw_every_task_on_its_own() -> None:
    """Else two tasks would leave as much open as one."""
    task = [[0.9, 0.2, 0.5, 0.4, 0.6], [0.5, 0.5, 0.5, 0.5, 0.5]]
    assert mean_ranks([task])[0][1:] == (1, 2)
    widths = [high - low for _, low, high in mean_ranks([task] * 6)]
    assert max(widths) < 1


def test_mean_ranks_put_what_does_not_count_last() -> None:
    never, partly = [math.nan] * 4, [math.nan, 1.0, 1.0, 1.0]
    tasks = [[[0.5] * 4, never, partly]]
    found = mean_ranks(tasks)
    assert [row[0] for row in found] == [2, 3, 1]
    assert found[1] == (3, 3, 3)
    assert mean_ranks([[[], []]]) == [(1.5, 1.5, 1.5)] * 2


def test_friedman_by_the_published_table() -> None:
    # Three encodings in the same order at every task: 6 of the 6^N arrangements.
    assert friedman([[3, 3, 3], [2, 2, 2], [1, 1, 1]]) == pytest.approx(6 / 6**3)
    assert friedman([[3, 3, 3, 3], [2, 2, 2, 2], [1, 1, 1, 1]]) == pytest.approx(6 / 6**4)
    # Rank sums 4, 5 and 9: a statistic of 4.67, p = 0.194 in the tables.
    assert friedman([[3, 3, 2], [2, 2, 3], [1, 1, 1]]) == pytest.approx(7 / 36)
    assert friedman([[1.0, 1.0], [1.0, 1.0], [-math.inf, -math.inf]]) == pytest.approx(1 / 3)


def test_friedman_does_not_apply_to_two_encodings_or_one_task() -> None:
    assert friedman([[3, 3, 3], [2, 2, 2]]) is None
    assert friedman([[3], [2], [1]]) is None


def test_friedman_tends_to_its_chi_square(rng: np.random.Generator) -> None:
    table = rng.normal(size=(4, 15)) + np.array([[0.9], [0.4], [0.0], [0.0]])
    reference = scipy.stats.friedmanchisquare(*np.round(table, 2)).pvalue
    assert 0.001 < reference < 0.3
    assert friedman(table) == pytest.approx(reference, rel=0.3)
