"""Pictures of one run, read back from the charts."""

from collections.abc import Callable
from typing import Any

import altair as alt
import pytest

from posenc.results.charts import png
from posenc.results.run_pictures import accuracy_by_place, length_curve

CURVE = {5: 1.0, 20: 0.98, 25: 0.9, 40: 0.5}
RUN = {
    "task": "copy", "model": "decoder", "encoding": "rope", "positions": "random", "seed": "3",
    "train_max": "20",
}  # fmt: skip


def data(chart: alt.LayerChart) -> list[list[dict[str, Any]]]:
    """The rows behind each layer, which share those of the chart where they are the same."""
    drawn = chart.to_dict()
    return [
        drawn["datasets"][layer.get("data", drawn.get("data"))["name"]] for layer in drawn["layer"]
    ]


def test_exact_match_stands_over_length_with_chance_and_the_trained_range(
    planted: Callable[..., Any],
) -> None:
    chart = length_curve(planted(CURVE))
    shaded, chance, exact = data(chart)
    assert shaded == [{"length": 5, "last": 20}]
    assert {row["length"]: row["exact"] for row in exact} == CURVE
    assert {row["chance"] for row in chance} == {0.5}
    assert chart.to_dict()["title"]["subtitle"] == (
        "who_bit_whom, encoder, rope, seed 0, trained to 20"
    )


@pytest.mark.parametrize("train_max", [3, 5, 40])
def test_a_curve_is_drawn_whatever_was_tested_of_the_trained_range(
    train_max: int, planted: Callable[..., Any]
) -> None:
    assert png(length_curve(planted(CURVE, train_max))).startswith(b"\x89PNG")


def test_token_accuracy_stands_over_places_and_lengths() -> None:
    places = [
        RUN | {"length": "5", "place": "0", "last": "3", "token_accuracy": "1.0"},
        RUN | {"length": "5", "place": "4", "last": "4", "token_accuracy": "0.25"},
    ]
    chart = accuracy_by_place(places)
    assert data(chart) == [
        [
            {"length": 5, "place": 0, "end": 4, "accuracy": 1.0},
            {"length": 5, "place": 4, "end": 5, "accuracy": 0.25},
        ]
    ]
    (layer,) = chart.to_dict()["layer"]
    assert layer["encoding"]["color"]["scale"]["domain"] == [0, 1]
    title = chart.to_dict()["title"]
    assert title["text"] == "token accuracy by place (teacher-forced)"
    assert title["subtitle"] == "copy, decoder, rope + random, seed 3, trained to 20"
    assert png(chart).startswith(b"\x89PNG")
