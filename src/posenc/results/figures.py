"""Curves against length, one panel for every setting and model."""

from typing import Literal

import altair as alt
import polars as pl

from posenc.results.charts import GREY, inline, styled
from posenc.results.labels import MASK_TELLS_ORDER, mask_tells_order
from posenc.results.reading import RUN
from posenc.results.report import SETTING, contenders, runs
from posenc.results.variants import Variants

SHADE = "#f1f4f9"


def length_curves(rows: pl.DataFrame, variants: Variants) -> alt.ConcatChart:
    """Exact match against length: a panel for every setting and model, a line for every contender.

    A line is the mean over fitted seeds, and faint points are single seeds; unfitted seeds have a
    dotted line of their own. The trained range is shaded and chance is dashed.
    """
    scores = contenders(rows, variants).group_by("label").agg(pl.col("score").mean())
    ranked = scores.sort("score", "label", descending=[True, False], nulls_last=True)["label"]
    found = runs(rows, variants).select(*RUN, "tested", "label", "fitted")
    rows = rows.join(found, on=RUN, maintain_order="left")
    rows = rows.sort("task", "model", descending=[False, True], maintain_order=True)
    panels = rows.partition_by(*SETTING, "model", maintain_order=True)
    chart = alt.concat(*(_panel(panel, ranked.to_list()) for panel in panels), columns=2)
    return styled(chart.resolve_scale(color="shared", strokeDash="shared", strokeWidth="shared"))


def _panel(rows: pl.DataFrame, ranked: list[str]) -> alt.LayerChart:
    first = rows.row(0, named=True)
    lengths = rows["length"].to_list()
    told = any(map(mask_tells_order, rows["model"], rows["encoding"]))
    title = alt.TitleParams(
        f"{first['task']}, {first['model']}",
        # A blank one keeps the plots of neighbouring panels level.
        subtitle=f"none: {MASK_TELLS_ORDER}" if told else " ",
    )
    trained = inline([{"length": min(lengths), "end": first["train_max"]}])
    chance = rows.group_by("length").agg(exact=pl.col("chance").mean()).sort("length")
    seeds = rows.with_columns(
        status=pl.when("fitted").then(pl.lit("fitted")).otherwise(pl.lit("not fitted")),
        rank=pl.col("label").replace_strict(ranked, range(len(ranked))),
    )
    line = ["rank", "label", "status", "length"]
    means = seeds.group_by(line).agg(pl.col("exact").mean()).sort(line)

    x = alt.X(
        "length:Q",
        scale=alt.Scale(zero=False, nice=False, domainMax=max(lengths)),
        title="length",
        axis=alt.Axis(grid=False, labelFlush=False),
    )
    y = alt.Y("exact:Q", scale=alt.Scale(domain=[0, 1]), title="exact match")
    scheme: Literal["tableau10", "tableau20"] = "tableau10" if len(ranked) <= 10 else "tableau20"
    colour = alt.Color(
        "label:N",
        title="encoding",
        scale=alt.Scale(domain=ranked, scheme=scheme),
        legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1, labelLimit=0),
    )
    # The better, the wider and the further back, so that a line under another one still shows.
    widths = alt.Scale(domain=[0, max(1, len(ranked) - 1)], range=[3.5, 1.5])
    dashes = alt.Scale(domain=["fitted", "not fitted"], range=[[1, 0], [2, 3]])
    mean_line = {
        "color": colour,
        "strokeWidth": alt.StrokeWidth("rank:Q", scale=widths, legend=None),
        "strokeDash": alt.StrokeDash("status:N", scale=dashes, title="seeds"),
    }
    dashed = alt.MarkDef("line", color=GREY, strokeDash=[6, 4], strokeWidth=1)
    layers = [
        alt.Chart(trained).mark_rect(color=SHADE).encode(x=x, x2="end:Q"),
        alt.Chart(trained).mark_text(text="trained", y=0, dy=-8).encode(x=x),
        alt.Chart(inline(means)).mark_line().encode(x=x, y=y, **mean_line),
        alt.Chart(inline(seeds.select("label", "length", "exact")))
        .mark_circle(size=20, opacity=0.4)
        .encode(x=x, y=y, color=colour),
        alt.Chart(inline(chance), mark=dashed).encode(x=x, y=y),
        alt.Chart(inline(chance.tail(1))).mark_text(text="chance", x="width", dx=4).encode(y=y),
    ]
    return alt.LayerChart(layer=layers, title=title, width=340, height=220)
