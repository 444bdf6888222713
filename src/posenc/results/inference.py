"""What few seeds allow to say: intervals and tests that hold for 3 to 10 of them.

Plain sequences in, numbers out. Scores are (encodings, seeds) and paired: a column holds what one
seed gave to every encoding. Nothing assumes normal noise, nothing depends on when it is called:
what is too much to enumerate is drawn with a fixed seed. Where a number is NaN, or infinite where
that makes no sense, ValueError is raised.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posenc.results import gaffke
from posenc.results.statistics import wilson

OPEN = 0.05
"""Of an interval for a mean or a rank: how often both of its ends together may be wrong."""
BLOCKS = 16
"""Differences whose signs are flipped one by one; of more, every 16th is flipped together."""
ARRANGEMENTS = 20_000
"""As many are enumerated; of more, SHUFFLES are drawn."""
SHUFFLES = 9_999
LEAST = 1 / (SHUFFLES + 1)
"""The smallest p that drawn shuffles can give."""
ROUNDING = 1e-12
"""Sums that differ by less are ties: the rest of an addition in another order."""

Array = NDArray[np.float64]


def mean_interval(values: Sequence[float], *, problems: int) -> tuple[float, float] | None:
    """The 95 % interval for the mean over seeds of a share, one value a seed.

    Gaffke's (`gaffke.interval`), whose coverage is proved where seeds are solved or unsolved and
    conjectured otherwise: assumes independent seeds and values in [0, 1], nothing else. Never
    narrower than what answers to n * `problems` problems alone leave open (Wilson). None for fewer
    than two seeds. Raises ValueError for a value outside [0, 1].
    """
    if len(values) < 2:
        return None
    shares = _finite(values)
    if shares.min() < -ROUNDING or shares.max() > 1 + ROUNDING:
        raise ValueError(f"shares lie in [0, 1], not {shares.tolist()}")
    shares = np.clip(shares, 0, 1)
    pooled = wilson(round(float(shares.sum()) * problems), len(shares) * problems)
    low, high = gaffke.interval(shares.tolist(), OPEN)
    return min(low, pooled[0]), max(high, pooled[1])


def difference_interval(
    differences: Sequence[float], *, confidence: float = 0.9
) -> tuple[float, float] | None:
    """The interval for the centre of paired differences, one a seed; None where n is too small.

    At 0.9 that is n < 5. Exact for independent differences that are symmetric about one centre,
    however they are distributed: it holds the centres that `sign_flip` would not reject at
    1 - confidence. The means of the 2^n - 1 subsets of the differences cut the line into 2^n
    pieces in which the centre lies with equal probability (Hartigan, 1969; Tritchler, 1984).
    """
    sums, sizes = _subsets(_finite(differences))
    outside = math.floor((1 - confidence) / 2 * len(sums))
    if outside < 1:
        return None
    means = np.sort(sums[1:] / sizes[1:])
    return float(means[outside - 1]), float(means[-outside])


def sign_flip(differences: Sequence[float]) -> float:
    """The exact two-sided p of paired differences, one a seed, under a centre of zero.

    The share of all 2^n ways to choose their signs that give a sum as far from zero (Fisher,
    1935). Assumes what `difference_interval` does. Raises ValueError where there is none.
    """
    total, flipped = _flipped(differences)
    return float(np.mean(np.abs(flipped) >= abs(total) - ROUNDING))


def sign_flip_above(differences: Sequence[float]) -> float:
    """The same, one-sided: under a centre of zero or less. The least is 1/2^n for n <= BLOCKS."""
    total, flipped = _flipped(differences)
    return float(np.mean(flipped >= total - ROUNDING))


def _flipped(differences: Sequence[float]) -> tuple[float, Array]:
    """Their sum, and that of every choice of signs. Raises ValueError where there is none."""
    values = _finite(differences)
    if not len(values):
        raise ValueError("a test takes one difference at least")
    total = float(values.sum())
    return total, total - 2 * _subsets(values)[0]


def smallest_p(n: int) -> float:
    """The least that `sign_flip` can give for n seeds: all differences have one sign."""
    return 2.0 ** (1 - min(n, BLOCKS))


def _subsets(values: Array) -> tuple[Array, Array]:
    """Sum and size of every subset, the empty one first.

    Of more than BLOCKS values, of those subsets that split no block: their flips form a group as
    well, which is all that an exact test takes (Hartigan, 1969), and nothing need be drawn.
    """
    sums, sizes = np.zeros(1), np.zeros(1)
    for first in range(min(len(values), BLOCKS)):
        block = values[first::BLOCKS]
        sums = np.concatenate([sums, sums + block.sum()])
        sizes = np.concatenate([sizes, sizes + len(block)])
    return sums, sizes


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted for being several (Holm, 1979), in the given order.

    With all at most 0.05 called significant, one or more false calls happen in 5 % of studies at
    most, whatever the tests have in common.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    steps = (min(1.0, (len(order) - k) * p_values[place]) for k, place in enumerate(order))
    adjusted = dict(zip(order, accumulate(steps, max), strict=True))
    return [adjusted[place] for place in range(len(p_values))]


def superiority(a: Sequence[float], b: Sequence[float]) -> float:
    """The probability that a run of A beats one of B: the share of all pairs, ties count half.

    Probability of improvement in Agarwal et al. (2021, arXiv 2108.13264). Raises ValueError where
    either has no run.
    """
    if not (len(a) and len(b)):
        raise ValueError("both need a run")
    gaps = _finite(a)[:, None] - _finite(b)[None, :]
    return float((np.mean(gaps > ROUNDING) + np.mean(gaps >= -ROUNDING)) / 2)


def shuffle_test(scores: ArrayLike) -> float:
    """p that the encodings are exchangeable within every seed, from (encodings, seeds).

    The share of arrangements, each seed's scores dealt anew to the encodings, in which the means
    of the encodings vary as much (Pitman, 1938). Exact up to ARRANGEMENTS; beyond, of SHUFFLES and
    the one that was seen. One seed alone says nothing: 1.
    """
    table = _finite(scores)
    k, n = table.shape
    centred = table - table.mean(axis=0)  # a seed's own level stays whatever is dealt
    seen = np.linalg.norm(centred.sum(axis=1))  # orders arrangements as the variance of means does
    # All seeds dealt alike change nothing, so the first may stay as it is.
    exact = math.factorial(k) ** (n - 1) <= ARRANGEMENTS
    as_much = np.linalg.norm(_all_sums(centred) if exact else _drawn_sums(centred), axis=1)
    as_much = as_much >= seen - ROUNDING
    return float(as_much.mean() if exact else (as_much.sum() + 1) / (SHUFFLES + 1))


def _all_sums(scores: Array) -> Array:
    """(arrangements, encodings): sums over seeds, the first seed's scores as they are."""
    sums = scores[:, :1].T
    for column in scores.T[1:]:
        dealt = np.array(list(permutations(column)))
        sums = (sums[:, None] + dealt[None]).reshape(-1, len(column))
    return sums


def _drawn_sums(scores: Array) -> Array:
    """(SHUFFLES, encodings): sums over seeds of scores that are dealt at random."""
    dealt = _uniform(SHUFFLES, *scores.shape).argsort(axis=1)
    return np.take_along_axis(scores[None], dealt, axis=1).sum(axis=2)


def _uniform(*shape: int, stream: int = 0) -> Array:
    """Numbers in [0, 1), the same at every call."""
    from scipy.stats import uniform  # takes half a second to import

    return np.asarray(uniform.rvs(size=shape, random_state=stream))


def ranks(scores: Sequence[float]) -> list[float]:
    """1 for the highest; those that print alike, with two decimals, share the mean of their ranks.

    An infinite score is a rank as well.
    """
    return [float(rank) for rank in _ranks(np.asarray(scores, dtype=float))]


def _ranks(scores: Array) -> Array:
    """The same along the last axis."""
    if np.isnan(scores).any():
        raise ValueError("a score that is no number has no rank")
    # Python rounds as it prints; NumPy turns 0.295, which prints as 0.29, into 0.3.
    printed = np.array([round(each, 2) for each in scores.ravel().tolist()]).reshape(scores.shape)
    ours, theirs = printed[..., :, None], printed[..., None, :]
    return (theirs > ours).sum(axis=-1) + ((theirs == ours).sum(axis=-1) + 1) / 2


def mean_or_last(scores: ArrayLike) -> float:
    """The mean of the scores that are a number or, where none is, what ranks below all others."""
    return float(_mean_or_last(np.asarray(scores, dtype=float)))


def _mean_or_last(scores: Array) -> Array:
    """The same along the last axis."""
    counted = ~np.isnan(scores)
    number = counted.sum(axis=-1)
    sums = np.where(counted, scores, 0).sum(axis=-1)
    return np.where(number, sums / np.maximum(number, 1), -np.inf)


def mean_ranks(
    tasks: Sequence[ArrayLike], *, draws: int = 2000
) -> list[tuple[float, float, float]]:
    """Mean over tasks of every encoding's rank by its mean score, with a 95 % interval.

    `tasks` are (encodings, seeds); their numbers of seeds may differ. NaN marks a run that does not
    count; an encoding of which none does comes last. The interval is that of a percentile bootstrap
    which draws the seeds of each task anew (Agarwal et al., 2021, arXiv 2108.13264), for all
    encodings alike: it speaks of these tasks only, and with few seeds it is rather too narrow. It
    is widened to hold the mean rank itself, which ties can leave outside. With one seed a task its
    ends are the mean.
    """
    tables = [np.asarray(task, dtype=float) for task in tasks]
    means = np.mean([_ranks(_mean_or_last(table)) for table in tables], axis=0)
    resampled = []
    for place, table in enumerate(tables):
        seeds = table.shape[1]
        drawn = (_uniform(draws, seeds, stream=place) * seeds).astype(int)
        resampled.append(_ranks(_mean_or_last(table[:, drawn]).T))
    ends = np.quantile(np.mean(resampled, axis=0), [OPEN / 2, 1 - OPEN / 2], axis=0)
    low, high = np.minimum(ends[0], means), np.maximum(ends[1], means)
    found = zip(means.tolist(), low.tolist(), high.tolist(), strict=True)
    return [(mean, low, high) for mean, low, high in found]


def friedman(table: ArrayLike) -> float | None:
    """p of Friedman's (1937) test, from (encodings, tasks): `shuffle_test` of the ranks at a task.

    None for fewer than three encodings or two tasks.
    """
    ranked = _ranks(np.asarray(table, dtype=float).T).T
    k, tasks = ranked.shape
    return shuffle_test(ranked) if k >= 3 and tasks >= 2 else None


def _finite(values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=float)
    if not np.isfinite(array).all():
        raise ValueError(f"needs finite numbers, not {array.tolist()}")
    return array
