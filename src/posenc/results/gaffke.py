"""Gaffke's interval for the mean of values in [0, 1], for any distribution and any number of them.

Either end is a quantile of a mean of the values and of 0 or 1, the end of their range, under
uniformly random weights: Gaffke (2005), found again by Learned-Miller and Thomas (2019, arXiv
1905.06208). For values of which each is 0 or 1 it is the interval of Clopper and Pearson (1934).

That it covers as often as it claims is proved where only two values occur, such as solved and
unsolved: then an end is at least as far out as Clopper and Pearson's for that range. For all other
distributions it is conjectured, and no counterexample is known.
"""

from collections.abc import Sequence


def interval(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """The interval at confidence 1 - alpha; independent values in [0, 1], as is not checked."""
    ascending = sorted(values)
    return (
        _quantile([0.0, *ascending], above=1 - alpha / 2),
        _quantile([*ascending, 1.0], above=alpha / 2),
    )


def _quantile(points: list[float], *, above: float) -> float:
    """What the mean of ascending points, Dirichlet(1, ..., 1) weighted, exceeds with that chance.

    The chance is a spline (Curry and Schoenberg, 1966) and known exactly, so nothing is drawn.
    """
    from scipy.optimize import brentq  # takes half a second to import

    if points[0] == points[-1]:
        return points[0]
    return float(brentq(lambda t: exceeds(points, t) - above, points[0], points[-1], xtol=1e-10))


def exceeds(points: Sequence[float], t: float) -> float:
    """The chance that the mean of ascending points, randomly weighted, is above t.

    By the recursion of B-splines: that of points i to j is an average of those of i to j-1 and of
    i+1 to j, and 0 or 1 where all of them lie on one side of t. So nothing cancels, nor is anything
    divided by zero, however close the points.
    """
    below = [point for point in points if point <= t]
    above = points[len(below) :]
    chances = [1.0] * len(above)  # of the points from one of `below` on, to each of `above`
    for low in reversed(below):
        chance = 0.0
        for place, high in enumerate(above):
            chance = ((t - low) * chance + (high - t) * chances[place]) / (high - low)
            chances[place] = chance
    return chances[-1] if above else 0.0
