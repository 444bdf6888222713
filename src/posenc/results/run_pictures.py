"""Pictures of what one run answers: by length, and by place in the answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from posenc.results.charts import GREY, inline, styled
from posenc.results.labels import label

Row = Mapping[str, Any]

LINE = "#0b78bd"
WIDTH, HEIGHT = 300, 180
"""Points: so few that words are legible on a card of TensorBoard."""


def length_curve(rows: Sequence[Row]) -> alt.LayerChart:
    """Exact match against length from rows of lengths.csv; trained range shaded, chance dashed."""
    length = alt.X("length:Q", title="length", scale=alt.Scale(zero=False, nice=False, padding=8))
    trained = [row["length"] for row in rows if row["in_range"]]
    shaded = [{"length": min(trained), "last": max(trained)}] if trained else []
    columns = ("length", "exact", "chance")
    points = alt.Chart(inline([{key: row[key] for key in columns} for row in rows]))

    def share(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title="exact match", scale=alt.Scale(domain=[0, 1]))

    layers = [
        alt.Chart(inline(shaded)).mark_rect(color=GREY, opacity=0.12).encode(x=length, x2="last:Q"),
        points.mark_line(color=GREY, strokeDash=[6, 4], strokeWidth=1).encode(
            x=length, y=share("chance")
        ),
        points.mark_line(color=LINE, point=alt.OverlayMarkDef(color=LINE)).encode(
            x=length, y=share("exact")
        ),
    ]
    return _of_run(layers, "exact match by length (dashed: chance)", rows[0])


def accuracy_by_place(places: Sequence[Row]) -> alt.LayerChart:
    """Token accuracy by length and place in the answer, from rows of places.csv."""
    cells = [
        {
            "length": int(row["length"]),
            "place": int(row["place"]),
            "end": int(row["last"]) + 1,
            "accuracy": float(row["token_accuracy"]),
        }
        for row in places
    ]
    colour = alt.Color(
        "accuracy:Q",
        title="",
        legend=alt.Legend(gradientLength=120),
        scale=alt.Scale(scheme="blues", domain=[0, 1]),
    )
    drawn = (
        alt.Chart(inline(cells))
        .mark_rect()
        .encode(
            x=alt.X("place:Q", title="place in the answer", scale=alt.Scale(nice=False)),
            x2="end:Q",
            y=alt.Y("length:O", title="length"),
            color=colour,
        )
    )
    forced = " (teacher-forced)" if places[0]["model"] == "decoder" else ""
    return _of_run([drawn], f"token accuracy by place{forced}", places[0])


def _of_run(layers: Sequence[alt.Chart], words: str, row: Row) -> alt.LayerChart:
    contender = label(row["encoding"], row["positions"])
    told = f"{row['task']}, {row['model']}, {contender}, seed {row['seed']}"
    title = alt.TitleParams(words, subtitle=f"{told}, trained to {row['train_max']}")
    return styled(alt.LayerChart(layer=list(layers), title=title, width=WIDTH, height=HEIGHT))
