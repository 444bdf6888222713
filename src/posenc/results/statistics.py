"""The numbers that sum up a curve of exact match against length; plain sequences in, numbers out.

A curve is given as `lengths`, ascending, and as many `values`.
"""

from collections.abc import Sequence
from itertools import pairwise

HOLDS = 0.9
"""Exact match that counts as solved, for a single length and for the trained range."""


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a share of n: never empty, not even at 0 or n of n."""
    from scipy.stats import binomtest  # takes half a second to import

    interval = binomtest(successes, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def score(lengths: Sequence[int], values: Sequence[float], train_max: int) -> float | None:
    """The curve's mean over every whole length from train_max + 1 to the longest one given.

    Linear between the given lengths, trained ones too; level up to the first where none is
    trained. None where nothing longer than train_max is given.
    """
    points = list(zip(lengths, values, strict=True))
    if not points or points[-1][0] <= train_max:
        return None
    if points[0][0] > train_max:
        points.insert(0, (train_max, points[0][1]))
    total, count = 0.0, 0
    for (left, low), (right, high) in pairwise(points):
        first = max(left, train_max) + 1
        number = max(0, right - first + 1)
        at_first = low + (high - low) * (first - left) / (right - left)
        total += number * (at_first + high) / 2  # the mean of a line is that of its ends
        count += number
    return total / count


def holds_to(lengths: Sequence[int], exact: Sequence[float]) -> int | None:
    """The largest length up to which every exact match is at least HOLDS, or None."""
    held = None
    for length, value in zip(lengths, exact, strict=True):
        if value < HOLDS:
            break
        held = length
    return held


def trained_mean(exact: Sequence[float], in_range: Sequence[bool]) -> float | None:
    """Mean exact match over the lengths inside the trained range, or None where none was tested."""
    trained = [value for value, inside in zip(exact, in_range, strict=True) if inside]
    return sum(trained) / len(trained) if trained else None


def fitted(exact: Sequence[float], in_range: Sequence[bool]) -> bool:
    """Whether a run learned its trained lengths, without which its longer ones say nothing.

    False too where no trained length was tested: then nothing vouches for the run.
    """
    mean = trained_mean(exact, in_range)
    return mean is not None and mean >= HOLDS
