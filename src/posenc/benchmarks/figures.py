"""A measured figure: a value of every round, what was aimed at, and how it is told."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import perf_counter
from typing import NamedTuple, TypeVar

Name = TypeVar("Name")

HEADER = ("figure", "unit", "median", "least", "most", "rounds", "aim", "met")


class Figure(NamedTuple):
    """What one thing came to in each round; `unit` is empty for a ratio."""

    name: str
    unit: str
    rounds: Sequence[float]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def median(self) -> float:
        """Of all rounds: a busy machine spoils one of them."""
        return statistics.median(self.rounds)

    @property
    def aim(self) -> str:
        """In words, or empty where there is none."""
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return "" if self.at_most is None else f"at most {self.at_most:g}"

    @property
    def met(self) -> str:
        """Whether the median is where it was aimed at: yes, no, or empty without an aim."""
        if not self.aim:
            return ""
        short = self.at_least is not None and self.median < self.at_least
        return "no" if short or (self.at_most is not None and self.median > self.at_most) else "yes"

    def row(self) -> list[str]:
        """Under HEADER."""
        shown = [written(each) for each in (self.median, min(self.rounds), max(self.rounds))]
        return [self.name, self.unit, *shown, str(len(self.rounds)), self.aim, self.met]


def told(figure: Figure) -> str:
    """In one line of a terminal."""
    name, unit, median, least, most, _, aim, met = figure.row()
    spread = f"({least} to {most})" if least != most else ""
    met = {"yes": "met", "no": "missed"}.get(met, "")
    return f"{name:<72}{median:>8} {unit:<12}{spread:<22}{aim:<15}{met}".rstrip()


def written(value: float) -> str:
    """Three digits that count, and no exponent."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 1e-4 else f"{value:.1e}"


def in_turn(
    works: Mapping[Name, Callable[[], object]], rounds: int, *, warm: bool = True
) -> dict[Name, list[float]]:
    """Seconds of every work in every round; each round goes through all, every other backwards.

    Where they are to be `warm`, a round that does not count comes first: it pays for what is
    loaded only once.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in works}
    for number in range(rounds + warm):
        for name in list(works)[:: 1 if number % 2 else -1]:
            started = perf_counter()
            works[name]()
            seconds[name].append(perf_counter() - started)
    return {name: each[warm:] for name, each in seconds.items()}


def take(loop: Iterator[object], steps: int) -> None:
    """So many steps of a loop."""
    for _ in islice(loop, steps):
        pass


def ratios(upper: Iterable[float], lower: Iterable[float]) -> list[float]:
    """Of each round."""
    return [one / other for one, other in zip(upper, lower, strict=True)]
