"""Pictures of curves against length: a panel for every task and model, a line for an encoding."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from posenc.results.charts import GREY, styled
from posenc.results.curves import CLEAR, datasets, ranking
from posenc.results.labels import MASK_TELLS_ORDER, METRICS
from posenc.results.panels import Panel

COLOURS = (
    "#0b78bd", "#db8600", "#b01c10", "#55b4ea", "#12a37c", "#8f6bf0", "#7d3c68", "#d37fb6",
    "#3647c0",
)  # fmt: skip
"""Chosen so that colour-blind eyes, too, tell the first few best. Their number shares no divisor
with that of the strokes, so 36 contenders look different."""
STROKES = (([1, 0], 3.0), ([10, 4], 2.4), ([4, 2], 2.0), ([11, 3, 2, 3], 1.8))
"""Dashes and widths: of two lines in one place, both are seen."""
UNFITTED = ([1, 3], 1.2)
BAND = 0.05
"""How opaque that of a contender is, where there are few."""
ALONE_BAND = 0.16
FADED = 0.08
GUESSED = ("exact", "token_accuracy")
"""Metrics of which chance is known."""
CAPTION = "Line: mean over fitted seeds, dotted over seeds that are not fitted. Dot: one seed."
BANDS = "Band, where there are few encodings: 95 % interval for the mean over seeds."
BITS_CAPTION = "Line: mean over all seeds, fitted or not. Dot: one seed."
BITS_BANDS = "Band, where there are few encodings: from the least to the most of all seeds."
WHOLE = "datum.value % 1 ? '' : format(datum.value, 'd')"
"""What an axis says at a length."""
FIRST_DIGIT = "datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9))"
"""Of a round number; the summand is for logarithms that fall short of a whole number."""
ROUND = f"indexof([1, 2, 3, 5], {FIRST_DIGIT}) < 0 ? '' : datum.value"
"""What a logarithmic axis says at a length."""
ALONE = "isolated == null || isolated == datum.label"


class Look(NamedTuple):
    """How the line of a contender is drawn."""

    colour: str
    dash: list[int]
    width: float


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """Label -> how it is drawn, the same in every panel."""
    return {
        label: Look(COLOURS[k % len(COLOURS)], *STROKES[k % len(STROKES)])
        for k, label in enumerate(labels)
    }


def widest_first(labels: Sequence[str]) -> list[str]:
    """The order in which lines are drawn, so that what lies below another one shows beside it."""
    own = looks(labels)
    return sorted(labels, key=lambda label: -own[label].width)


def length_curves(panels: Sequence[Panel], metric: str = "exact") -> alt.ConcatChart:
    """A metric against length as a picture.

    A line is the mean over fitted seeds, thin and dotted over those that are not fitted, or, of
    bits, over all; a dot is one seed, a band the interval over seeds, where there are few enough to
    be told apart. The trained range is shaded and chance is dashed. Lengths are logarithmic where
    they go far.
    """
    labels = ranking(panels, metric)
    bands = any(len(panel.contenders) <= CLEAR for panel in panels)
    drawn = {each: layers(metric, labels, far=each) for each in (False, True)}
    told = [BITS_CAPTION, BITS_BANDS] if metric == "bits" else [CAPTION, BANDS]
    caption = alt.TitleParams(
        told if bands else told[:1],
        orient="bottom",
        anchor="start",
        fontSize=11,
        fontWeight="normal",
        color=GREY,
        offset=12,
    )
    titled = [_titled(drawn[panel.far], panel, k) for k, panel in enumerate(panels)]
    chart = alt.concat(*titled, columns=2, title=caption)
    chart = chart.resolve_scale(color="shared", strokeDash="shared", strokeWidth="shared")
    chart, order = styled(chart), widest_first(labels)
    # Last, as everything that is said of a chart copies its data.
    chart.datasets = {
        f"{name}{k}": rows
        for k, panel in enumerate(panels)
        for name, rows in datasets(panel, order).items()
    }
    return chart


def _titled(drawn: Sequence[alt.Chart], panel: Panel, number: int) -> alt.LayerChart:
    """Layers over the data of the panel of that number."""
    own = [layer.copy(deep=False) for layer in drawn]
    for layer in own:
        layer.data = alt.NamedData(f"{layer.data.name}{number}")
    told = f"trained to {panel.train_max}, tested to {panel.lengths[-1]}"
    if panel.mask_tells:
        told += f"; none: {MASK_TELLS_ORDER}"
    title = alt.TitleParams(panel.title, subtitle=told)
    return alt.LayerChart(layer=own, title=title, width=340, height=220)


def layers(
    metric: str, labels: Sequence[str], *, answers: bool = False, far: bool = False
) -> list[alt.Chart]:
    """What is drawn of one metric over data named as in `datasets`, in the looks of `labels`.

    With `answers` there is no legend, and it reacts: to a parameter `isolated`, null or the one
    label that stays bright, to a pointer, and to a click on a seed, which follows its `href`.
    `far` makes lengths logarithmic.
    """
    whole = "whole" if metric == "bits" else "lines"
    lines, seeds, chance, trained = map(alt.NamedData, (whole, "seeds", "chance", "trained"))
    ends = [f"{metric}_low", f"{metric}_high"]
    x, y, start = _length("length", far), _height(metric, metric), _length("from", far)
    colour, dash, width = _channels(labels, None if answers else _legend(labels))
    curves = alt.Chart(lines).transform_flatten(["length", metric, *ends])
    points = alt.Chart(seeds).transform_flatten(["length", metric])
    shown = ALONE if answers else "true"
    lit = alt.when(shown).then(alt.value(1)).otherwise(alt.value(FADED))

    low = _height(ends[0], metric)
    drawn = [
        alt.Chart(trained).mark_rect(opacity=0.09, color=GREY).encode(x=start, x2="to:Q"),
        alt.Chart(trained).mark_text(y=0, dy=-8).encode(x=start, text="said:N"),
        curves.mark_area().encode(
            x=x, y=low, y2=ends[1], color=colour, opacity=_band(answers=answers)
        ),
    ]
    if metric in GUESSED:
        guess = alt.Chart(chance).transform_flatten(["length", metric])
        last = guess.transform_filter("datum.length == datum.last")
        drawn += [
            guess.mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1).encode(x=x, y=y),
            last.mark_text(text="chance", x="width", dx=4).encode(y=y),
        ]
    fitted, (thin_dash, thin) = alt.when("datum.fitted"), UNFITTED
    drawn += [
        curves.mark_line().encode(
            x=x,
            y=y,
            color=colour,
            detail="fitted:N",
            strokeDash=fitted.then(dash).otherwise(alt.value(thin_dash)),
            strokeWidth=fitted.then(width).otherwise(alt.value(thin)),
            opacity=lit,
        ),
        curves.mark_circle().encode(
            x=x, y=y, color=colour, size=_size("datum.marked", 18), opacity=lit
        ),
    ]
    if answers:
        told = curves.transform_calculate(interval=_interval(*ends))
        unseen = told.mark_circle(opacity=0).encode(x=x, y=y, tooltip=_of_line(metric))
        drawn.append(unseen.encode(size=_size(shown, 220)))
        points = points.encode(href="href:N", tooltip=_of_seed(metric))
    dots = points.mark_circle(opacity=0.45, xOffset=alt.expr("datum.shift"))
    return [*drawn, dots.encode(x=x, y=y, color=colour, size=_size(shown, 16))]


def _length(column: str, far: bool) -> alt.X:
    axis = alt.Axis(grid=False, labelFlush=False, tickCount=6, labelExpr=WHOLE)
    scale = alt.Scale(zero=False, nice=False, padding=7)
    if far:
        axis = alt.Axis(grid=False, labelFlush=False, labelExpr=ROUND)
        scale = alt.Scale(type="log", nice=False, padding=7)
    return alt.X(f"{column}:Q", title="length", scale=scale, axis=axis)


def _height(column: str, metric: str) -> alt.Y:
    scale = alt.Scale() if metric == "bits" else alt.Scale(domain=[0, 1])
    return alt.Y(f"{column}:Q", title=METRICS[metric], scale=scale, axis=alt.Axis(tickCount=6))


def _legend(labels: Sequence[str]) -> alt.Legend:
    return alt.Legend(
        symbolType="stroke",
        symbolSize=500,
        symbolOpacity=1,
        symbolLimit=0,
        labelLimit=0,
        columns=1 + len(labels) // 25,
    )


def _channels(
    labels: Sequence[str], legend: alt.Legend | None
) -> tuple[alt.Color, alt.StrokeDash, alt.StrokeWidth]:
    """One legend for all of them: same column, title and order."""
    columns = list(zip(*looks(labels).values(), strict=True)) or [()] * 3
    colours, dashes, widths = (
        alt.Scale(domain=list(labels), range=list(column)) for column in columns
    )
    return (
        alt.Color("label:O", title="encoding", scale=colours, legend=legend),
        alt.StrokeDash("label:O", title="encoding", scale=dashes, legend=legend),
        alt.StrokeWidth("label:O", title="encoding", scale=widths, legend=legend),
    )


def _size(test: str, size: float) -> Any:
    """Of a dot, which without size is not met by a pointer either."""
    return alt.when(test).then(alt.value(size)).otherwise(alt.value(0))


def _band(*, answers: bool) -> Any:
    """Faint, and nothing where there are too many; clear of a contender that is isolated."""
    faint = alt.when("datum.clear").then(alt.value(BAND))
    if answers:
        alone = alt.when("isolated == datum.label").then(alt.value(ALONE_BAND))
        faint = alone.when("isolated == null && datum.clear").then(alt.value(BAND))
    return faint.otherwise(alt.value(0))


def _interval(low: str, high: str) -> str:
    told = f"format(datum.{low}, '.3f') + ' to ' + format(datum.{high}, '.3f')"
    return f"isValid(datum.{low}) ? {told} : 'none'"


def _of_line(metric: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="encoding"),
        alt.Tooltip("length:Q"),
        alt.Tooltip(f"{metric}:Q", title=f"mean {METRICS[metric]}", format=".3f"),
        alt.Tooltip("interval:N", title="range" if metric == "bits" else "95 % interval"),
        alt.Tooltip("fit:N", title="seeds"),
        alt.Tooltip("problems:Q", title="problems each"),
    ]


def _of_seed(metric: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="encoding"),
        alt.Tooltip("seed:Q"),
        alt.Tooltip("length:Q"),
        alt.Tooltip(f"{metric}:Q", title=METRICS[metric], format=".3f"),
        alt.Tooltip("fit:N", title="run"),
    ]
