"""Curves as rows, and the picture that is made of them."""

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PIL import Image

from posenc.results import inference
from posenc.results.charts import png, svg
from posenc.results.curves import datasets, ranking
from posenc.results.figures import length_curves, looks
from posenc.results.panels import Panel, panels
from posenc.results.reading import Found

LN2 = math.log(2)
Rows = list[dict[str, Any]]
Planted = Callable[..., Rows]
Read = Callable[..., Found]


@pytest.fixture
def drawn(found: Read) -> Callable[..., list[Panel]]:
    """The panels of rows."""
    return lambda rows: panels(found(rows))


def labels(panel: Panel) -> list[str]:
    return [contender.label for contender in panel.contenders]


def rows_of(panel: Panel) -> dict[str, Rows]:
    return datasets(panel, labels(panel))


def colours(chart: Any) -> set[str]:
    """Those that cover at least 20 pixels, which leaves out most blends at edges."""
    image = Image.open(io.BytesIO(png(chart))).convert("RGB")
    found = image.getcolors(maxcolors=1 << 20)
    assert found is not None
    return {f"#{bytes(colour).hex()}" for count, colour in found if count >= 20}  # type: ignore[arg-type]


def test_a_line_is_the_mean_of_fitted_seeds_and_the_others_have_their_own(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    [panel] = drawn(
        [
            *planted({5: 1.0, 20: 1.0, 40: 0.6}, seed=0),
            *planted({5: 1.0, 20: 1.0, 40: 0.8}, seed=1),
            *planted({5: 0.4, 20: 0.2, 40: 0.2}, seed=2),
        ]
    )
    unfitted, fitted = sorted(rows_of(panel)["lines"], key=lambda line: line["fitted"])
    assert fitted["exact"] == pytest.approx([1.0, 1.0, 0.7])
    assert unfitted["exact"] == [0.4, 0.2, 0.2]
    assert (fitted["fit"], unfitted["fit"]) == ("2 of 3 fitted", "1 of 3 not fitted")
    low, high = inference.mean_interval([0.6, 0.8], problems=100) or (0, 0)
    assert (fitted["exact_low"][2], fitted["exact_high"][2]) == (low, high)
    assert (fitted["bits_low"][2], fitted["bits_high"][2]) == pytest.approx((0.2 / LN2, 0.4 / LN2))
    assert unfitted["exact_low"] == unfitted["exact_high"] == [None] * 3


def test_bits_are_drawn_over_all_runs_the_fewest_at_the_end_first(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    several = drawn(
        [
            *planted({20: 1.0}, loss=LN2),
            *planted({40: 0.9}, loss=2 * LN2),
            *planted({20: 0.1}, seed=1, loss=3 * LN2),
            *planted({40: 0.1}, seed=1, loss=6 * LN2),
            *planted({20: 0.9, 40: 0.0}, encoding="alibi", loss=3 * LN2),
        ]
    )
    assert ranking(several) == ["rope", "alibi"]
    assert ranking(several, "bits") == ["alibi", "rope"]
    alibi, rope = sorted(rows_of(several[0])["whole"], key=lambda line: line["label"])
    assert rope["bits"] == pytest.approx([2, 4])
    assert (rope["bits_low"], rope["bits_high"]) == (pytest.approx([1, 2]), pytest.approx([3, 6]))
    assert (rope["fitted"], alibi["fitted"]) == (True, True)
    picture = svg(length_curves(several, "bits")).decode()
    assert "Line: mean over all seeds, fitted or not. Dot: one seed." in picture
    assert "loss, bits a token" in picture
    assert ">chance<" not in picture


def test_what_seldom_fits_is_not_drawn_as_the_best(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    several = drawn(
        [
            *planted({20: 1.0, 40: 1.0}, encoding="alibi"),
            *(
                row
                for seed in (1, 2)
                for row in planted({20: 0, 40: 0}, seed=seed, encoding="alibi")
            ),
            *(row for seed in range(3) for row in planted({20: 1.0, 40: 0.5}, seed=seed)),
        ]
    )
    assert several[0].contenders[0].label == "alibi"
    assert ranking(several) == ["rope", "alibi"]


def test_one_seed_has_no_interval(planted: Planted, drawn: Callable[..., list[Panel]]) -> None:
    [panel] = drawn(planted({20: 1.0, 40: 0.6}))
    [line] = rows_of(panel)["lines"]
    assert line["exact_low"] == line["exact_high"] == [None, None]


def test_every_seed_is_a_dot_beside_the_others(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    [panel] = drawn([row for seed in range(5) for row in planted({20: 1.0, 40: 1.0}, seed=seed)])
    seeds = rows_of(panel)["seeds"]
    assert [row["seed"] for row in seeds] == [0, 1, 2, 3, 4]
    shifts = [row["shift"] for row in seeds]
    assert shifts == sorted(set(shifts))
    assert sum(shifts) == 0


@pytest.mark.parametrize(
    ("lengths", "trained"),
    [
        ((5, 20, 40), {"from": 5, "to": 20, "said": "trained"}),
        ((5, 10), {"from": 5, "to": 10, "said": "trained"}),
        ((30, 40), {"from": 30, "to": 30, "said": ""}),
        ((20,), {"from": 20, "to": 20, "said": "trained"}),
    ],
)
def test_the_trained_range_ends_inside_the_picture(
    lengths: Sequence[int],
    trained: dict[str, Any],
    planted: Planted,
    drawn: Callable[..., list[Panel]],
) -> None:
    [panel] = drawn(planted(dict.fromkeys(lengths, 1.0)))
    assert rows_of(panel)["trained"] == [trained]


def test_chance_is_a_line_of_its_metric_at_one_length_too(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    [panel] = drawn(planted({40: 1.0}, chance=0.25, token_chance=0.5))
    [chance] = rows_of(panel)["chance"]
    assert chance["length"] == [39.5, 40.5]
    assert (chance["exact"], chance["token_accuracy"]) == ([0.25, 0.25], [0.5, 0.5])


def test_contenders_look_different_and_the_same_in_every_panel(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    assert (
        len({(look.colour, *look.dash) for look in looks(list(map(str, range(36)))).values()}) == 36
    )
    several = drawn(
        [
            *planted({20: 1.0, 40: 0.5}),
            *planted({20: 1.0, 40: 0.9}, encoding="alibi"),
            *planted({20: 1.0, 40: 0.6}, task="copy"),
            *planted({20: 1.0, 40: 0.5}, task="copy", encoding="alibi"),
            *planted({20: 0.2, 40: 0.2}, task="copy", encoding="none"),
        ]
    )
    assert ranking(several) == ["alibi", "rope", "none"]
    spec = length_curves(several).to_dict()
    domains = {
        tuple(layer["encoding"]["color"]["scale"]["domain"])
        for panel in spec["concat"]
        for layer in panel["layer"]
        if "color" in layer.get("encoding", {})
    }
    assert domains == {("alibi", "rope", "none")}


def test_titles_tell_panels_apart(planted: Planted, drawn: Callable[..., list[Panel]]) -> None:
    curve = {20: 1.0, 40: 0.5}
    several = drawn(
        [
            *planted(curve, task="copy"),
            *planted({20: 1.0, 60: 0.2}, task="copy", seed=1),
            *planted(curve, model="decoder", encoding="none"),
        ]
    )
    spec = length_curves(several).to_dict()
    told = [(panel["title"]["text"], panel["title"]["subtitle"]) for panel in spec["concat"]]
    assert told[:2] == [
        ("copy, encoder", "trained to 20, tested to 40"),
        ("copy, encoder", "trained to 20, tested to 60"),
    ]
    assert "the causal mask itself tells order" in told[2][1]


def test_of_lines_in_one_place_all_are_seen(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    solved = {5: 1.0, 20: 1.0, 40: 1.0}
    encodings = ("alibi", "fire", "rope", "t5")
    rows = [row for name in encodings for row in planted(solved, encoding=name)]
    wanted = {look.colour for look in looks(encodings).values()}
    assert wanted <= colours(length_curves(drawn(rows)))


def test_bands_are_left_out_where_they_would_hide_each_other(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    for count, clear in ((4, True), (5, False)):
        rows = [row for k in range(count) for row in planted({20: 1.0}, encoding=f"e{k}")]
        [panel] = drawn(rows)
        assert {line["clear"] for line in rows_of(panel)["lines"]} == {clear}


def test_a_legend_names_forty_contenders(
    planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    names = [f"encoding{k:02}" for k in range(40)]
    rows = [row for name in names for row in planted({1: 1.0, 2000: 0.5}, 1, encoding=name)]
    text = svg(length_curves(drawn(rows))).decode()
    assert all(f">{name}<" in text for name in names)


def test_axes_count_whole_lengths(planted: Planted, drawn: Callable[..., list[Panel]]) -> None:
    text = svg(length_curves(drawn(planted({40: 1.0}, train_max=40)))).decode()
    assert re.findall(r">([\d.]+)</text>", text)[:1] == ["40"]
    assert ">39.5<" not in text


def test_a_long_table_is_no_obstacle(planted: Planted, drawn: Callable[..., list[Panel]]) -> None:
    curve = dict.fromkeys(range(1, 101), 1.0)
    rows = [row for seed in range(60) for row in planted(curve, seed=seed)]
    assert len(rows) > 5000
    assert length_curves(drawn(rows)).to_dict()


@pytest.mark.parametrize(("longest", "scale"), [(200, "linear"), (201, "log")])
def test_far_lengths_are_logarithmic(
    longest: int, scale: str, planted: Planted, drawn: Callable[..., list[Panel]]
) -> None:
    chart = length_curves(drawn(planted({5: 1.0, 20: 1.0, longest: 0.6}))).to_dict()
    along = [layer["encoding"].get("x", {}) for layer in chart["concat"][0]["layer"]]
    assert {x["scale"].get("type", "linear") for x in along if "scale" in x} == {scale}
