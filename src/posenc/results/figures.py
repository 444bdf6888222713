"""Curves against length: what is drawn in a panel, and how."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import altair as alt

from posenc.results import inference
from posenc.results.charts import GREY, inline, styled
from posenc.results.labels import MASK_TELLS_ORDER
from posenc.results.panels import CURVES, Contender, Panel, Run

COLOURS = (
    "#1a7fc1", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b5ea7", "#882255",
    "#777777",
)  # fmt: skip
"""Told apart by colour-blind eyes, most of them after Okabe and Ito, and seen on white and black.
Their number shares no divisor with that of the dashes, so 36 contenders look different."""
DASHES = ([1, 0], [9, 5], [3, 3], [12, 3, 3, 3])
"""A line over another one at 1.00 leaves it visible; solid ones are drawn first."""
CLEAR = 4
"""Contenders up to which the bands of a picture can be told apart."""
NAMES = {"exact": "exact match", "token_accuracy": "token accuracy", "loss": "loss, nats a token"}
GUESSED = ("exact", "token_accuracy")
"""Metrics for which chance is known."""
SHADE = 0.08
BAND = 0.06
LEGEND = alt.Legend(
    symbolType="stroke", symbolStrokeWidth=3, symbolSize=500, symbolOpacity=1, labelLimit=0
)
ALONE = "isolated == null || isolated == datum.label"

Rows = list[dict[str, Any]]


class Line(NamedTuple):
    """What the runs of a contender come to at every length: those that are fitted, or the others.

    By metric: the mean, and the ends of an interval for it or, of a loss, the range of the runs.
    Ends are None for a single run.
    """

    label: str
    fitted: bool
    runs: int
    of: int
    problems: int
    mean: dict[str, list[float]]
    low: dict[str, list[float | None]]
    high: dict[str, list[float | None]]


def lines(panel: Panel) -> list[Line]:
    """For each contender one line or, where it fits in some seeds only, two."""
    found = []
    for contender in panel.contenders:
        for fitted in (True, False):
            runs = [run for run in contender.runs if run.fitted is fitted]
            if runs:
                found.append(_line(contender, runs, fitted=fitted))
    return found


def _line(contender: Contender, runs: Sequence[Run], *, fitted: bool) -> Line:
    problems = min(run.problems for run in runs)
    mean, low, high = {}, {}, {}
    for name in CURVES:
        by_length = list(zip(*(run.curves[name] for run in runs), strict=True))
        mean[name] = [fmean(values) for values in by_length]
        if name == "token_accuracy" and mean[name] == mean["exact"]:
            low[name], high[name] = low["exact"], high["exact"]
            continue
        ends = [_ends(name, values, problems) for values in by_length]
        low[name], high[name] = [each[0] for each in ends], [each[1] for each in ends]
    return Line(contender.label, fitted, len(runs), len(contender.runs), problems, mean, low, high)


def _ends(name: str, values: Sequence[float], problems: int) -> tuple[float | None, float | None]:
    if len(values) == 1:
        return None, None
    if name == "loss":
        return min(values), max(values)
    return inference.mean_interval(values, problems=problems) or (None, None)


def ranking(panels: Sequence[Panel]) -> list[str]:
    """All labels, best mean score first: their order in the legend, by which they get colours."""
    scores: dict[str, list[float]] = {}
    for panel in panels:
        for contender in panel.contenders:
            own = scores.setdefault(contender.label, [])
            own += [] if contender.score is None else [contender.score]
    return sorted(scores, key=lambda label: (-fmean(scores[label] or [0]), label))


def looks(labels: Sequence[str]) -> dict[str, tuple[str, list[int]]]:
    """Label -> colour and dash, the same in every panel."""
    return {
        label: (COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)])
        for k, label in enumerate(labels)
    }


def length_curves(panels: Sequence[Panel]) -> alt.ConcatChart:
    """Exact match against length as a picture: a panel for every task and model.

    A line is the mean over fitted seeds, thin and dotted over those that are not fitted; a point
    is one seed, a band the interval over seeds, where there are few enough to be told apart. The
    trained range is shaded and chance is dashed.
    """
    labels = ranking(panels)
    drawn = []
    for panel in panels:
        data = {name: inline(rows) for name, rows in datasets(panel, lines(panel), labels).items()}
        drawn.append(
            panel_chart(panel, "exact", labels, data, bands=len(panel.contenders) <= CLEAR)
        )
    chart = alt.concat(*drawn, columns=2)
    return styled(chart.resolve_scale(color="shared", strokeDash="shared"))


def datasets(panel: Panel, found: Sequence[Line], labels: Sequence[str]) -> dict[str, Rows]:
    """The rows behind a chart: `lines`, `seeds`, `chance` and the `trained` range."""
    dashes = {label: DASHES.index(dash) for label, (_, dash) in looks(labels).items()}
    solid_first = sorted(found, key=lambda line: dashes[line.label])
    points = [
        {"label": line.label, "fitted": line.fitted, "length": length}
        | {"fit": _fit(line), "problems": line.problems}
        | {name: line.mean[name][k] for name in CURVES}
        | {f"{name}_low": line.low[name][k] for name in CURVES}
        | {f"{name}_high": line.high[name][k] for name in CURVES}
        for line in solid_first
        for k, length in enumerate(panel.lengths)
    ]
    seeds = [
        {"label": contender.label, "seed": run.seed, "length": length}
        | {name: run.curves[name][k] for name in CURVES}
        for contender in panel.contenders
        for run in contender.runs
        for k, length in enumerate(panel.lengths)
    ]
    both = zip(panel.lengths, panel.chance, panel.token_chance, strict=True)
    chance = [
        {"length": length, "exact": exact, "token_accuracy": token} for length, exact, token in both
    ]
    inside = [length for length, in_range in zip(panel.lengths, panel.in_range, strict=True)
              if in_range]  # fmt: skip
    trained = [{"length": min(inside), "end": panel.train_max}] if inside else []
    return {"lines": points, "seeds": seeds, "chance": chance, "trained": trained}


def _fit(line: Line) -> str:
    return f"{line.runs} of {line.of} {'fitted' if line.fitted else 'not fitted'}"


def panel_chart(
    panel: Panel,
    metric: str,
    labels: Sequence[str],
    data: Mapping[str, Any],
    *,
    bands: bool = True,
    answers: bool = False,
) -> alt.LayerChart:
    """One panel of one metric over data named as in `datasets`, in the looks that `labels` give.

    With `answers` it has neither title nor legend, and reacts: to a parameter `isolated`, null or the one label
    that stays bright, to a pointer, and to a click on a seed, which follows its `href`.
    """
    axis = alt.Axis(grid=False, labelFlush=False, tickCount=6)
    scale = alt.Scale(zero=False, nice=False, domain=_span(panel.lengths))
    x = alt.X("length:Q", scale=scale, title="length", axis=axis)
    heights = alt.Scale() if metric == "loss" else alt.Scale(domain=[0, 1])
    y = alt.Y(f"{metric}:Q", scale=heights, title=NAMES[metric])
    own = looks(labels)
    legend = None if answers else LEGEND
    colour, dash = (
        channel(
            "label:N",
            title="encoding",
            scale=alt.Scale(domain=list(own), range=[look[place] for look in own.values()]),
            legend=legend,
        )
        for place, channel in enumerate((alt.Color, alt.StrokeDash))
    )

    def lit(bright: float, dim: float = 0.05) -> Any:
        """An opacity, another one while some other label is isolated."""
        if not answers:
            return alt.value(bright)
        return alt.when(ALONE).then(alt.value(bright)).otherwise(alt.value(dim))

    fitted = alt.Chart(data["lines"]).transform_filter("datum.fitted")
    rest = alt.Chart(data["lines"]).transform_filter("!datum.fitted")
    layers: list[alt.Chart] = [
        alt.Chart(data["trained"]).mark_rect(opacity=SHADE, color=GREY).encode(x=x, x2="end:Q"),
        alt.Chart(data["trained"]).mark_text(text="trained", y=0, dy=-8).encode(x=x),
    ]
    if bands:
        layers.append(
            fitted.mark_area().encode(
                x=x,
                y=alt.Y(f"{metric}_low:Q", title=NAMES[metric]),
                y2=f"{metric}_high:Q",
                color=colour,
                opacity=_band() if answers else alt.value(BAND),
            )
        )
    seeds = alt.Chart(data["seeds"]).mark_circle(size=16)
    layers += [
        rest.mark_line(strokeWidth=1.2, strokeDash=[1, 3]).encode(
            x=x, y=y, color=colour, opacity=lit(0.9)
        ),
        fitted.mark_line(strokeWidth=2.2).encode(
            x=x, y=y, color=colour, strokeDash=dash, opacity=lit(1)
        ),
        seeds.encode(x=x, y=y, color=colour, opacity=lit(0.4), **_links(metric, answers=answers)),
    ]
    if metric in GUESSED:
        guess = alt.Chart(data["chance"]).encode(y=alt.Y(f"{metric}:Q", title=NAMES[metric]))
        last = f"datum.length == {panel.lengths[-1]}"
        layers += [
            guess.mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1).encode(x=x),
            guess.transform_filter(last).mark_text(text="chance", x="width", dx=4),
        ]
    if answers:
        layers.append(_pointed_at(data["lines"], x, y, metric))
    chart = alt.LayerChart(layer=layers, width=340, height=220)
    if answers:
        return chart.add_params(alt.param(name="isolated", value=None))
    return chart.properties(title=alt.TitleParams(panel.title, subtitle=subtitle(panel)))


def subtitle(panel: Panel) -> str:
    """Lengths, and what the causal mask does."""
    told = f"trained to {panel.train_max}, tested to {panel.lengths[-1]}"
    return f"{told}; none: {MASK_TELLS_ORDER}" if panel.mask_tells else told


def _band() -> Any:
    """Of all contenders faint, of one that is isolated clear."""
    alone = alt.when("isolated == datum.label").then(alt.value(0.22))
    return alone.when("isolated == null").then(alt.value(BAND)).otherwise(alt.value(0))


def _links(metric: str, *, answers: bool) -> dict[str, Any]:
    if not answers:
        return {}
    told = [
        alt.Tooltip("label:N", title="encoding"),
        alt.Tooltip("seed:Q"),
        alt.Tooltip("length:Q"),
        alt.Tooltip(f"{metric}:Q", title=NAMES[metric], format=".3f"),
    ]
    return {"href": alt.Href("href:N"), "tooltip": told}


def _pointed_at(lines: Any, x: alt.X, y: alt.Y, metric: str) -> alt.Chart:
    """Unseen points on the lines that tell what they are."""
    told = [
        alt.Tooltip("label:N", title="encoding"),
        alt.Tooltip("length:Q"),
        alt.Tooltip(f"{metric}:Q", title=f"mean {NAMES[metric]}", format=".3f"),
        alt.Tooltip(f"{metric}_low:Q", title="from", format=".3f"),
        alt.Tooltip(f"{metric}_high:Q", title="to", format=".3f"),
        alt.Tooltip("fit:N", title="seeds"),
        alt.Tooltip("problems:Q", title="problems each"),
    ]
    return (
        alt.Chart(lines).mark_point(size=80, filled=True, opacity=0).encode(x=x, y=y, tooltip=told)
    )


def _span(lengths: Sequence[int]) -> list[float]:
    """What the axis shows: also of a single length something."""
    low, high = lengths[0], lengths[-1]
    return [low, high] if low < high else [low - 0.5, high + 0.5]
