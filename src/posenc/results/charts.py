"""Charts of matrices and lines, and the pictures made of them without a browser or a network."""

import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl

Chart = TypeVar("Chart", alt.ConcatChart, alt.FacetChart, alt.LayerChart)
Picture = alt.FacetChart | alt.LayerChart
Matrix = Sequence[Sequence[float | None]]

GREY = "#6b7280"
PALE = "#e5e7eb"
MATRIX, BESIDE = 240, 160
"""Points that a matrix takes along its longer side, alone and beside others."""
LEGIBLE = 14
"""Points that a cell needs for a word beside it."""
WORDS = 12
"""Points of such words, which are read in a small picture, too."""


def heat_map(
    panels: Mapping[str, Matrix],
    *,
    rows: str,
    columns: str,
    title: str = "",
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    signed: bool = False,
    softened: bool = False,
    row_step: int = 1,
    column_step: int = 1,
) -> alt.FacetChart:
    """Matrices as coloured cells, one panel for each, all on one scale of colours.

    `rows` and `columns` name the axes, whose cells are numbered from 0 in the given steps unless
    labelled. A cell that is None or not finite stays blank. `signed` makes 0 pale, what is below
    it blue and what is above it orange, equally strong on both sides, and `softened` makes these
    colours follow the logarithm of values beyond 1, so that small ones still show beside large
    ones.
    """
    cells: list[dict[str, Any]] = [
        {"panel": name, "row": i, "column": j, "value": value}
        for name, matrix in panels.items()
        for i, line in enumerate(matrix)
        for j, value in enumerate(line)
        if value is not None and math.isfinite(value)
    ]
    shape = next(iter(panels.values()))
    height, width = len(shape), len(shape[0])
    room = MATRIX if len(panels) == 1 else BESIDE
    fitting = (2 * room // max(height, width)) / 2  # two pixels to the point leave no seams
    step = alt.Step(LEGIBLE if row_labels or column_labels else min(max(0.5, fitting), 18))
    legend = alt.Legend(gradientLength=120)
    scale = alt.Scale(scheme="blues")
    if signed:
        scale, legend.values = _about_zero([cell["value"] for cell in cells], softened=softened)
        legend.format = ".2~g"
    chart = (
        alt.Chart(inline(cells))
        .mark_rect()
        .encode(
            x=alt.X("column:O", **_cells(width, columns, column_labels, column_step)),
            y=alt.Y("row:O", **_cells(height, rows, row_labels, row_step)),
            color=alt.Color("value:Q", scale=scale, title="", legend=legend),
        )
        .properties(width=step, height=step)
        .facet(
            alt.Facet("panel:N", sort=list(panels), title=""), columns=2 if len(panels) <= 4 else 4
        )
        .properties(title=title)
    )
    return styled(chart)


def _about_zero(values: Sequence[float], *, softened: bool) -> tuple[alt.Scale, list[float]]:
    """Of two colours as much as there are values for, and which of its values to name."""
    low, high = min([0, *values]), max([0, *values])
    if low == high:
        high = 1
    ends = [math.copysign(math.log1p(abs(x)), x) if softened else x for x in (low, high)]
    largest = max(map(abs, ends))
    named = [x for x, end in zip((low, high), ends, strict=True) if abs(end) > largest / 10]
    scale = alt.Scale(
        scheme=alt.SchemeParams("blueorange", extent=[0.5 + x / (2 * largest) for x in ends]),
        domain=[low, high],
        type="symlog" if softened else "linear",
    )
    return scale, [0, *named]


def curves(
    lines: Mapping[str, Sequence[float]], *, first: int, x: str, y: str, title: str | list[str] = ""
) -> alt.LayerChart:
    """Named lines over whole numbers from `first` on; `x` and `y` name the axes.

    A value that is not finite leaves a gap, and a single line has no legend. A title may have
    several lines.
    """
    points: list[dict[str, Any]] = [
        {"line": name, "x": place, "y": value}
        for name, values in lines.items()
        for place, value in enumerate(values, start=first)
        if math.isfinite(value)
    ]
    legend = alt.Legend(title="", symbolType="stroke", symbolStrokeWidth=3, labelLimit=0)
    colour = alt.Color(
        "line:N",
        sort=list(lines),
        scale=alt.Scale(scheme="tableau10"),
        legend=legend if len(lines) > 1 else None,
    )
    dashed = alt.MarkDef("rule", color=GREY, strokeDash=[6, 4], strokeWidth=1)
    # Labels at the ends would otherwise be moved inwards, away from the place that they name.
    axis = alt.Axis(grid=False, tickMinStep=1, labelFlush=False)
    layers = [
        alt.Chart(inline([{"x": 0}]), mark=dashed).encode(x="x:Q"),
        alt.Chart(inline(points))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(nice=False, padding=8), axis=axis),
            y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=False)),
            color=colour,
        ),
    ]
    return styled(alt.LayerChart(layer=layers, title=title, width=320, height=190))


def subtitled(chart: Picture, lines: Sequence[str]) -> Picture:
    """The same chart with lines below its title."""
    return chart.properties(title=alt.TitleParams(chart.title, subtitle=list(lines)))


def png(chart: alt.TopLevelMixin, scale: float = 2) -> bytes:
    """The chart as a PNG of `scale` pixels to the point, drawn without a browser or a network."""
    return rasterised(svg(chart), scale)


def svg(chart: alt.TopLevelMixin) -> bytes:
    """The chart as SVG, drawn in the same way."""
    buffer = io.StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue().encode()


def rasterised(svg: bytes, scale: float = 2) -> bytes:
    """What `png` gives, of a chart that `svg` has drawn already."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg.decode(), scale=scale))


def _cells(count: int, name: str, labels: Sequence[str] | None, step: int) -> dict[str, Any]:
    axis = alt.Axis(labelAngle=0, labelOverlap=True, labelExpr=f"datum.value * {step}")
    if labels is not None:
        # Words repeat within a sentence, so cells keep their numbers and only show the words.
        said = f"{json.dumps(list(labels))}[datum.value]"
        axis = alt.Axis(labelExpr=said, labelOverlap=False, labelFontSize=WORDS)
    return {"title": name, "axis": axis, "scale": alt.Scale(domain=list(range(count)))}


def inline(rows: pl.DataFrame | list[dict[str, Any]]) -> dict[str, Any]:
    """Rows as data of a chart; a data frame would be cut at 5000, alt.InlineData checks each."""
    return {"values": rows if isinstance(rows, list) else rows.to_dicts()}


def styled(chart: Chart) -> Chart:
    """The same in the colours and letters that all charts here have."""
    return chart.configure(
        font="DejaVu Sans",
        background="white",
        aria=False,  # words for every single mark would double an SVG
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=GREY,
            titleColor=GREY,
            titleFontWeight="normal",
            domain=False,
            tickSize=0,
            gridColor=PALE,
        ),
        text=alt.MarkConfig(color=GREY, fontSize=9, align="left"),
        title=alt.TitleConfig(anchor="start", fontSize=13, subtitleColor=GREY),
    )
