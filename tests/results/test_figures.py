import io
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from PIL import Image

from posenc.results.charts import png
from posenc.results.figures import length_curves

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
