"""The lengths at which a network is evaluated when nobody names them."""

from posenc.tasks.base import Task

BEYOND = (1.25, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 50, 75, 100)
"""Multiples of the longest trained length."""


def evaluation_lengths(task: Task, low: int, trained: int, tested: int) -> list[int]:
    """Quarters of the trained range from `low` to `trained`, then ever wider steps to `tested`.

    Each is lowered to the next length at which the task is defined.
    """
    quarters = [low, *(trained * quarter // 4 for quarter in (1, 2, 3, 4))]
    multiples = [int(trained * factor) for factor in BEYOND]
    wanted = [length for length in quarters if length >= low] + multiples + [tested]
    return _legal(task, wanted, low, tested)


def probe_lengths(task: Task, low: int, trained: int, tested: int) -> list[int]:
    """The longest trained length, twice that, and the longest tested one, each lowered likewise."""
    return _legal(task, [trained, 2 * trained, tested], low, tested)


def _legal(task: Task, wanted: list[int], low: int, tested: int) -> list[int]:
    legal = task.lengths(low, tested)
    within = [length for length in wanted if legal[0] <= length <= tested]
    return sorted({max(n for n in legal if n <= length) for length in within})
