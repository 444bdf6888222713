"""What steps, sweeps and reports cost as they grow, with exponents."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt

from posenc.benchmarks.figures import Figure, in_turn, take
from posenc.benchmarks.loop import bare
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.report import SETS as OF_RUNS
from posenc.benchmarks.report import report, write_runs
from posenc.catalogue import classes
from posenc.results.charts import inline, styled
from posenc.run import train
from posenc.schema import Config

STEPS: Mapping[str, tuple[Sequence[int], str]] = {
    "length": (
        (32, 128, 512, 2000),
        "task=copy data.batch_size=4 length.min={half} length.train={half} length.test={half}",
    ),
    "width": ((32, 64, 128, 256, 512), "model.width={size} model.heads={sixteenth}"),
    "layers": ((1, 2, 4, 8), "model.layers={size}"),
    "batch": ((8, 32, 128, 512), "data.batch_size={size}"),
}
"""What grows in a training step: its sizes, and the settings that make them. The rest is the
default run at its longest length."""
ENCODINGS = {"length": ("none", "rope", "alibi", "t5")}
"""Where one acts otherwise than another as something grows."""
RUNS = {100: (4, 5), 300: (6, 10), 1000: (10, 20)}
"""Number of runs -> of tasks and encodings, with five seeds each."""
SHORT = ("trainer.max_steps=20", "eval.samples=64", "logger=none", "data.batch_size=8")
SETS = (
    *OF_RUNS, "task", "encoding", "data.curriculum", "length.min", "length.train", "length.test",
    "model.layers",
)  # fmt: skip
FITTED = 3
"""Sizes through which the line goes: small ones cost what every step costs."""
UNITS = ("ms a step", "s")
TICKS: dict[str, Any] = {"grid": False, "format": "d", "tickCount": 3, "labelOverlap": True}


def measure(plan: Plan) -> Iterator[Figure]:
    """Costs at every size, and the exponent: the slope of a line through the logarithms of the
    largest sizes."""
    for axis, (sizes, settings) in STEPS.items():
        kept = sizes[: plan.size(len(sizes), 2)]
        for encoding in ENCODINGS.get(axis, ("sinusoidal",)):
            works, times = {}, {}
            for size in kept:
                own = settings.format(size=size, half=size // 2, sixteenth=size // 16).split()
                config = plan.config(
                    f"encoding={encoding}", "data.curriculum=fixed", "trainer.max_steps=100000",
                    *own,
                )  # fmt: skip
                times[size] = plan.size(max(1, 20 * kept[0] // size), 1)
                works[size] = partial(take, bare(config), times[size])
            seconds = in_turn(works, plan.rounds)
            costs = {size: [1e3 * each / times[size] for each in seconds[size]] for size in kept}
            yield from _grown(axis, encoding, costs, UNITS[0])
    config = plan.config(*SHORT, "trainer.enable_progress_bar=false")
    seeds = {size: partial(_train, config, size) for size in (1, 2, 4, 8)[: plan.size(4, 2)]}
    yield from _grown("seeds", "short runs", in_turn(seeds, plan.rounds), UNITS[1])
    with TemporaryDirectory() as place:
        reports: dict[int, Callable[[], None]] = {}
        for number, (tasks, encodings) in list(RUNS.items())[: plan.size(3, 2)]:
            outputs = Path(place) / str(number)
            write_runs(plan, outputs, classes("task")[:tasks], classes()[:encodings])
            reports[number] = partial(report, outputs, number, ("--format", "html,md,csv"))
        seconds = in_turn(reports, plan.rounds, warm=False)
        yield from _grown("runs", "report.py", seconds, UNITS[1])


def _train(config: Config, seeds: int) -> None:
    with TemporaryDirectory() as outputs:
        for seed in range(seeds):
            train(replace(config, outputs=outputs, seed=seed), quiet=True)


def _grown(
    axis: str, line: str, costs: Mapping[int, Sequence[float]], unit: str
) -> Iterator[Figure]:
    for size, cost in costs.items():
        yield Figure(f"{axis} {size}, {line}", unit, cost)
    fitted = list(costs)[-FITTED:]
    sizes = [math.log(size) for size in fitted]
    slopes = [
        linear_regression(sizes, [math.log(cost) for cost in costs_of_round]).slope
        for costs_of_round in zip(*(costs[size] for size in fitted), strict=True)
    ]
    yield Figure(f"{axis}, {line}: exponent from {fitted[0]} on", "", slopes)


def picture(figures: Sequence[Figure]) -> alt.FacetChart:
    """Cost against size, a panel for each thing that grows, both axes logarithmic."""
    points: list[dict[str, Any]] = []
    for figure in figures:
        if figure.unit in UNITS:
            place, line = figure.name.split(", ")
            axis, size = place.split()
            panel = f"{axis}, {figure.unit}"
            points.append({"panel": panel, "size": int(size), "of": line, "cost": figure.median})
    panels: list[str] = list(dict.fromkeys(point["panel"] for point in points))
    lines: list[str] = list(dict.fromkeys(point["of"] for point in points))
    logarithmic = alt.Scale(type="log", nice=False, padding=8)
    chart = (
        alt.Chart(inline(points))
        .mark_line(point=True, strokeWidth=1.5)
        .encode(
            x=alt.X("size:Q", title="", scale=logarithmic, axis=alt.Axis(**TICKS)),
            y=alt.Y("cost:Q", title="", scale=logarithmic, axis=alt.Axis(tickCount=4)),
            color=alt.Color("of:N", title="", sort=lines),
        )
        .properties(width=190, height=140)
        .facet(alt.Facet("panel:N", sort=panels, title=""), columns=3)
        .resolve_scale(x="independent", y="independent")
    )
    return styled(chart)
