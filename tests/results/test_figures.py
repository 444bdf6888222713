import io
import math
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from PIL import Image

from posenc.results.figures import curves, heat_map, length_curves, png, subtitled

Planted = Callable[..., list[dict[str, Any]]]


def picture(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    """Those that cover at least 20 pixels, which leaves out most blends at edges."""
    found = image.getcolors(maxcolors=1 << 20)
    assert found is not None
    return {colour for count, colour in found if count >= 20 and isinstance(colour, tuple)}


def marks(spec: Any, mark: str) -> list[dict[str, Any]]:
    """All parts of a chart that are drawn with this mark."""
    if isinstance(spec, list):
        return [found for part in spec for found in marks(part, mark)]
    if not isinstance(spec, dict):
        return []
    own = [spec] if isinstance(spec.get("mark"), dict) and spec["mark"]["type"] == mark else []
    return own + [found for part in spec.values() for found in marks(part, mark)]


def values(chart: dict[str, Any], mark: str) -> list[list[dict[str, Any]]]:
    """The data behind each part drawn with this mark."""
    return [
        chart["datasets"][part["data"]["name"]]
        if "name" in part["data"]
        else part["data"]["values"]
        for part in marks(chart, mark)
    ]


def test_curves_show_means_seeds_chance_and_the_trained_range(planted: Planted) -> None:
    rows = [
        *planted({5: 1.0, 20: 1.0, 40: 0.6}, seed=0),
        *planted({5: 1.0, 20: 1.0, 40: 0.8}, seed=1),
        *planted({5: 0.4, 20: 0.2, 40: 0.2}, seed=2),
    ]
    chart = length_curves(pl.DataFrame(rows), {}).to_dict()
    means, chance = values(chart, "line")
    assert {(row["status"], row["length"]): row["exact"] for row in means} == {
        ("fitted", 5): 1.0,
        ("fitted", 20): 1.0,
        ("fitted", 40): pytest.approx(0.7),
        ("not fitted", 5): 0.4,
        ("not fitted", 20): 0.2,
        ("not fitted", 40): 0.2,
    }
    assert {row["exact"] for row in chance} == {0.5}
    [seeds], [trained] = values(chart, "circle"), values(chart, "rect")
    assert len(seeds) == len(rows)
    assert trained == [{"length": 5, "end": 20}]
    assert all(line["encoding"]["y"]["scale"]["domain"] == [0, 1] for line in marks(chart, "line"))


def test_a_panel_for_every_task_and_model_and_a_label_for_every_contender(
    planted: Planted,
) -> None:
    curve = {20: 1.0, 40: 0.5}
    rows = [
        *planted(curve),
        *planted({20: 1.0, 40: 0.9}, positions="random"),
        *planted(curve, model="decoder", encoding="none"),
        *planted(curve, task="copy"),
        *planted({20: 1.0, 60: 0.2}, task="copy", seed=1),
    ]
    chart = length_curves(pl.DataFrame(rows), {}).to_dict()
    titles = [(panel["title"]["text"], panel["title"]["subtitle"]) for panel in chart["concat"]]
    assert titles == [
        ("copy, encoder", " "),
        ("copy, encoder", " "),
        ("who_bit_whom, encoder", " "),
        ("who_bit_whom, decoder", "none: the causal mask itself tells order"),
    ]
    domain = marks(chart, "line")[0]["encoding"]["color"]["scale"]["domain"]
    assert domain == ["rope + random", "none", "rope"]


def test_the_picture_of_curves_holds_a_colour_for_every_contender(planted: Planted) -> None:
    one = planted({5: 1.0, 20: 0.95, 40: 0.6})
    other = planted({5: 1.0, 20: 0.95, 40: 0.2}, encoding="alibi")
    first, both = (
        picture(png(length_curves(pl.DataFrame(rows), {}))) for rows in (one, one + other)
    )
    orange = (245, 133, 24)
    assert orange not in colours(first)
    assert orange in colours(both)
    assert first.width > 600


def test_a_long_table_is_no_obstacle(planted: Planted) -> None:
    curve = dict.fromkeys(range(1, 101), 1.0)
    rows = [row for seed in range(60) for row in planted(curve, seed=seed)]
    assert len(rows) > 5000
    assert length_curves(pl.DataFrame(rows), {}).to_dict()


def painted(chart: Any) -> dict[tuple[int, ...], int]:
    """How many cells of 18 x 18 points have each colour; white is paper."""
    found = picture(png(chart, scale=1)).getcolors(maxcolors=1 << 20)
    assert found is not None
    cells = {colour: round(count / 18**2) for count, colour in found if isinstance(colour, tuple)}
    return {colour: count for colour, count in cells.items() if count and colour != (255,) * 3}


def test_a_heat_map_paints_values_and_leaves_gaps_blank() -> None:
    panels = {"head 0": [[0.0, None], [math.inf, 1.0]], "head 1": [[1.0, math.nan], [0.0, 0.0]]}
    cells = painted(heat_map(panels, rows="asks", columns="is asked"))
    pale, dark = sorted(cells, key=sum, reverse=True)
    assert (cells[pale], cells[dark]) == (3, 2)


def test_a_signed_heat_map_is_palest_at_zero_and_even_about_it() -> None:
    cells = painted(heat_map({"": [[-1.0, 0.0, 0.0, 4.0]]}, rows="r", columns="c", signed=True))
    zero = max(cells, key=sum)
    assert cells.pop(zero) == 2
    below, above = sorted(cells, key=lambda colour: colour[0] - colour[2])
    assert below[2] > below[0], "below zero is blue"
    assert above[0] > above[2], "above zero is orange"
    assert sum(below) > sum(above), "a quarter of the way is paler than the end"


@pytest.mark.parametrize("softened", [False, True])
def test_zero_and_the_largest_values_have_the_same_colours_whatever_the_signs(
    softened: bool,
) -> None:
    def shades(*row: float) -> set[tuple[int, ...]]:
        chart = heat_map({"": [row]}, rows="r", columns="c", signed=True, softened=softened)
        return set(painted(chart))

    (pale,) = shades(0.0)
    blue, orange = shades(0.0, -8.0) - {pale}, shades(0.0, 8.0) - {pale}
    assert shades(-8.0, 0.0, 8.0) == {pale} | blue | orange
    assert pale in shades(-8.0, 0.0, 2.0)
    assert blue < shades(-8.0, 0.0, 2.0)
    assert orange.isdisjoint(shades(-8.0, 0.0, 2.0))


def test_the_scale_of_a_signed_heat_map_names_zero_and_its_ends() -> None:
    for row, legend in (([-25.0, 0.0], "0 −25"), ([-2.5, 0.5], "0 −2.5 0.5"), ([-4, 1e-7], "0 −4")):
        svg = svg_of(heat_map({"": [row]}, rows="r", columns="c", signed=True))
        assert (
            re.findall(r">([^<]+)</text>", svg[svg.index("role-legend-label") :]) == legend.split()
        )


def test_words_on_the_axes_may_repeat() -> None:
    words = ["the", "dog", "the"]
    chart = heat_map(
        {"": [[1.0] * 3] * 3}, rows="r", columns="c", row_labels=words, column_labels=words
    )
    svg = svg_of(chart)
    assert svg.count(">the<") == 4
    assert svg.count(">dog<") == 2


def test_titles_and_axis_names_are_written() -> None:
    panels = {f"head {head}": [[0.0, 1.0]] for head in (10, 9, 2)}
    svg = svg_of(heat_map(panels, rows="asks", columns="is asked", title="layer 0"))
    for text in ("layer 0", "asks", "is asked"):
        assert f">{text}<" in svg
    # In the order given, not in that of the alphabet.
    assert svg.index(">head 10<") < svg.index(">head 9<") < svg.index(">head 2<")


def test_a_heat_map_of_equal_values_or_of_none_is_drawn() -> None:
    for value in (0.0, 3.0, None):
        for signed in (True, False):
            chart = heat_map({"": [[value, value]]}, rows="r", columns="c", signed=signed)
            assert picture(png(chart)).width > 0


def svg_of(chart: Any) -> str:
    buffer = io.StringIO()
    chart.save(buffer, format="svg")
    return buffer.getvalue()


def test_pictures_leave_nothing_behind() -> None:
    chart = heat_map({"": [[0.0, 1.0]]}, rows="r", columns="c")
    assert png(chart) == png(chart)


def test_curves_over_whole_numbers_leave_gaps_and_name_lines_where_there_are_several() -> None:
    one = curves({"": [1.0, math.nan, 3.0]}, first=-1, x="x", y="y", title="a title")
    (points,) = values(one.to_dict(), "line")
    assert points == [{"line": "", "x": -1, "y": 1.0}, {"line": "", "x": 1, "y": 3.0}]
    assert ">a title<" in svg_of(one)
    svg = svg_of(curves({"head 2": [0.0, 1.0], "head 1": [1.0, 0.0]}, first=0, x="x", y="y"))
    assert svg.index(">head 2<") < svg.index(">head 1<")


def test_labels_of_curves_stand_below_what_they_name_at_both_ends() -> None:
    svg = svg_of(curves({"": [0.0] * 101}, first=-50, x="x", y="y"))
    labels = re.findall(r'text-anchor="(\w+)"[^>]*>(−50|0|50)</text>', svg)
    assert {text for anchor, text in labels if anchor == "middle"} == {"−50", "0", "50"}


def test_a_line_below_the_title_is_written() -> None:
    for chart in (
        heat_map({"": [[0.0]]}, rows="r", columns="c", title="a title"),
        curves({"": [0.0, 1.0]}, first=0, x="x", y="y", title="a title"),
    ):
        svg = svg_of(subtitled(chart, ["one line", "another"]))
        assert all(f">{text}<" in svg for text in ("a title", "one line", "another"))


def test_a_softened_heat_map_shows_small_values_beside_large_ones() -> None:
    matrix = {"": [[-1.0, 0.0, 0.0, 500.0]]}
    softened = painted(heat_map(matrix, rows="r", columns="c", signed=True, softened=True))
    plain = painted(heat_map(matrix, rows="r", columns="c", signed=True))
    assert len(softened) == 3
    shades = [sorted(map(sum, cells)) for cells in (softened, plain)]
    assert shades[0][1] < shades[1][1] - 10


def test_cells_may_stand_for_every_third_position() -> None:
    svg = svg_of(heat_map({"": [[0.0] * 3]}, rows="r", columns="c", column_step=3))
    assert all(f">{place}<" in svg for place in (0, 3, 6))
    assert ">1<" not in svg
