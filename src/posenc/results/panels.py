"""What can be compared: a panel for every task and model, a contender for every encoding in it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, median_low
from typing import Any

import polars as pl

from posenc.results import statistics
from posenc.results.labels import METRICS, label, mask_tells_order
from posenc.results.reading import EVALUATED, Found, Origin
from posenc.results.variants import Variants, differences, told_apart

SAME = ["task", "model", "train_max", "length", "in_range", "chance", "token_chance"]
"""Runs are compared only where all of these agree, those by length at every length, and so do the
settings of the task."""

FAR = 10
"""Times the trained length."""


@dataclass(frozen=True)
class Run:
    """One evaluation of one run: its curves over the lengths of its panel, and their sums."""

    seed: int
    fingerprint: str
    evaluation: str
    curves: dict[str, list[float]]
    """Those of METRICS."""
    problems: int
    """Problems asked at a length; at that which has the fewest."""
    trained_mean: float | None
    score: float | None
    token_score: float | None
    holds_to: int | None
    origin: Origin | None

    @property
    def fitted(self) -> bool:
        """Whether it learned its trained lengths; if not, its longer ones say nothing."""
        return self.trained_mean is not None and self.trained_mean >= statistics.HOLDS


@dataclass(frozen=True)
class Contender:
    """An encoding with its positions and its settings, and its runs by seed."""

    label: str
    encoding: str
    runs: list[Run]

    @property
    def fitted(self) -> list[Run]:
        """The runs that count."""
        return [run for run in self.runs if run.fitted]

    @property
    def score(self) -> float | None:
        """Mean over fitted runs; None where there is none, or no length beyond was tested."""
        return mean_of(self.fitted, "score")

    @property
    def holds_to(self) -> int | None:
        """The median over fitted runs, the lower one of two; 0 where nothing held."""
        held = [run.holds_to or 0 for run in self.fitted]
        return median_low(held) if held else None

    @property
    def parameters(self) -> int | None:
        """Trained numbers of the network."""
        known = [run.origin.parameters for run in self.runs if run.origin]
        return next((count for count in known if count is not None), None)

    def step_seconds(self) -> dict[tuple[int, str], float]:
        """Number of steps and machine -> median time of a step, of runs that are alike in both."""
        alike = defaultdict(list)
        for origin in filter(None, (run.origin for run in self.runs)):
            if origin.steps is not None and origin.step_seconds is not None:
                alike[origin.steps, origin.machine].append(origin.step_seconds)
        return {key: median(seconds) for key, seconds in alike.items()}


@dataclass(frozen=True)
class Panel:
    """The contenders at one task under one model, best first, those without a score last."""

    task: str
    model: str
    train_max: int
    told: str
    """The settings in which its task differs from that of its neighbours, if any."""
    lengths: list[int]
    in_range: list[bool]
    chance: list[float]
    token_chance: list[float]
    contenders: list[Contender]

    @property
    def title(self) -> str:
        """Task and model."""
        return f"{self.task}{f' [{self.told}]' if self.told else ''}, {self.model}"

    @property
    def tested(self) -> str:
        """Trained and tested lengths in words."""
        many = f"{len(self.lengths)} lengths up to " if len(self.lengths) > 1 else ""
        return f"trained to length {self.train_max}, tested at {many}{self.lengths[-1]}"

    @property
    def far(self) -> bool:
        """Whether its lengths go so far that they are best drawn on a logarithmic axis."""
        return self.lengths[-1] > FAR * self.train_max

    @property
    def chance_score(self) -> float | None:
        """The score of a guess that is blind to order."""
        return self.score_of(self.chance)

    @property
    def many_tokens(self) -> bool:
        """Whether some answer has several tokens: only then do token accuracies tell more."""
        runs = (run.curves for each in self.contenders for run in each.runs)
        return any(curves["token_accuracy"] != curves["exact"] for curves in runs)

    def score_of(self, curve: Sequence[float]) -> float | None:
        """The mean of a curve over all lengths beyond the trained ones."""
        return statistics.score(self.lengths, curve, self.train_max)

    @property
    def mask_tells(self) -> bool:
        """Whether it has a contender that the causal mask tells order."""
        return any(mask_tells_order(self.model, each.encoding) for each in self.contenders)

    def named(self, label: str) -> Contender | None:
        """The contender of that label."""
        return next((each for each in self.contenders if each.label == label), None)


def mean_of(runs: Iterable[Run], number: str) -> float | None:
    """Of `score` or `token_score` over the runs that have one; None where none has."""
    found = [value for run in runs if (value := getattr(run, number)) is not None]
    return fmean(found) if found else None


def panels(found: Found) -> list[Panel]:
    """Everything that was found, sorted by task, the encoder first."""
    columns = [*SAME, *METRICS, "n"]
    lists = [column for column in columns if column not in EVALUATED]
    rows = found.rows.with_columns(bits=pl.col("loss") / math.log(2))
    whole = rows.group_by(EVALUATED, maintain_order=True).agg(*lists)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in whole.iter_rows(named=True):
        task = tuple(sorted(_task(found.variants, row["fingerprint"]).items()))
        same = (tuple(row[key]) if isinstance(row[key], list) else row[key] for key in SAME)
        groups[(*same, repr(task))].append(row)
    several = [_panel(rows, found) for rows in groups.values()]
    return sorted(_told(several, found.variants), key=lambda panel: (panel.task, _order(panel)))


def _order(panel: Panel) -> tuple[Any, ...]:
    return (panel.model == "decoder", panel.model, panel.told, panel.train_max, panel.lengths)


def _task(variants: Variants, fingerprint: str) -> dict[str, Any]:
    settings = variants.get(fingerprint, {})
    return {key: value for key, value in settings.items() if key.startswith("task.")}


def _panel(rows: Sequence[dict[str, Any]], found: Found) -> Panel:
    first = rows[0]
    named = defaultdict(list)
    for row in rows:
        named[label(row["encoding"], row["positions"])].append(row)
    contenders = [each for name, own in named.items() for each in _contenders(name, own, found)]
    return Panel(
        task=first["task"],
        model=first["model"],
        train_max=first["train_max"][0],
        told="",
        lengths=first["length"],
        in_range=first["in_range"],
        chance=first["chance"],
        token_chance=first["token_chance"],
        contenders=sorted(contenders, key=_rank),
    )


def _rank(contender: Contender) -> tuple[bool, float, str]:
    score = contender.score
    return (score is None, -round(score or 0, 9), contender.label)  # equal but for rounding: a tie


def _contenders(name: str, rows: Sequence[dict[str, Any]], found: Found) -> list[Contender]:
    """Those of one name, told apart by the settings in which they differ."""
    apart = defaultdict(list)
    for row in rows:
        apart[row["fingerprint"], row["evaluation"]].append(row)
    settings, asked = (told_apart(found.variants, hashes) for hashes in zip(*apart, strict=True))
    contenders = []
    for (fingerprint, evaluation), own in apart.items():
        told = ", ".join(filter(None, (settings[fingerprint], asked[evaluation])))
        runs = sorted((_run(row, found) for row in own), key=lambda run: run.seed)
        contenders.append(Contender(f"{name} [{told}]" if told else name, own[0]["encoding"], runs))
    return contenders


def _run(row: dict[str, Any], found: Found) -> Run:
    lengths, train_max = row["length"], row["train_max"][0]
    return Run(
        seed=row["seed"],
        fingerprint=row["fingerprint"],
        evaluation=row["evaluation"],
        curves={name: row[name] for name in METRICS},
        problems=min(row["n"]),
        trained_mean=statistics.trained_mean(row["exact"], row["in_range"]),
        score=statistics.score(lengths, row["exact"], train_max),
        token_score=statistics.score(lengths, row["token_accuracy"], train_max),
        holds_to=statistics.holds_to(lengths, row["exact"]),
        origin=found.origins.get(tuple(row[key] for key in EVALUATED)),
    )


def _told(several: Sequence[Panel], variants: Variants) -> list[Panel]:
    """The same, each with the settings in which its task differs from those of its name."""
    own = {id(panel): panel.contenders[0].runs[0].fingerprint for panel in several}
    rivals = defaultdict(list)
    for panel in several:
        rivals[panel.task, panel.model].append(own[id(panel)])
    told = []
    for panel in several:
        differing = differences(variants, rivals[panel.task, panel.model])
        words = [
            f"{key}={values[own[id(panel)]]}"
            for key, values in differing.items()
            if key.startswith("task.") and own[id(panel)] in values
        ]
        told.append(replace(panel, told=", ".join(words)))
    return told
