import io
import math
import re
from typing import Any

import pytest
from PIL import Image

from posenc.results.charts import curves, heat_map, png, subtitled


def picture(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


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
    [points] = [rows for rows in one.to_dict()["datasets"].values() if "line" in rows[0]]
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
