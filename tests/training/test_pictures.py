"""What is drawn of an encoding and of attention, read back from the charts."""

import json
import math
from collections import defaultdict

import pytest
import torch

from posenc.training.pictures import (
    attention_picture,
    encoding_pictures,
    longest_fitting,
    on_logits,
    text_ids,
)

T = 6
IDS = torch.arange(T)[None]
EXPECTED = {
    "none": set(),
    "sinusoidal": {"table", "similarity", "distance"},
    "rope": {"rotation", "distance"},
    "xpos": {"rotation", "distance"},
    "alibi": {"bias", "distance"},
    "tupe": {"bias", "distance"},
    "shaw": {"score", "distance"},
    "deberta": {"score", "distance"},
    "combined": {"table", "similarity", "rotation", "distance"},
    "cope": set(),  # starts at zero
}
HOOKS = {
    "table": "embed",
    "similarity": "embed",
    "rotation": "rotate",
    "bias": "bias",
    "score": "score",
}


def matrices(chart):
    """panel -> {(row, column): value}."""
    found = defaultdict(dict)
    (cells,) = chart.to_dict()["datasets"].values()
    for cell in cells:
        found[cell["panel"]][cell["row"], cell["column"]] = cell["value"]
    return found


def line(chart):
    """line -> {x: y}."""
    found = defaultdict(dict)
    for points in chart.to_dict()["datasets"].values():
        for point in points:
            if "line" in point:
                found[point["line"]][point["x"]] = point["y"]
    return found


def full(rows, columns):
    return {(row, column) for row in range(rows) for column in range(columns)}


def test_every_hook_that_does_something_is_drawn(encoding_name, model_name, built):
    encoding = built(f"encoding={encoding_name}", f"model={model_name}").net.encoding
    pictures = encoding_pictures(encoding, IDS)
    own = {picture for picture, hook in HOOKS.items() if hook in encoding.hooks()}
    own |= {"distance"} if own else set()
    assert pictures.keys() == EXPECTED.get(encoding_name, own)
    seen = {(i, j) for i, j in full(T, T) if model_name == "encoder" or j <= i}
    for picture, chart in pictures.items():
        if picture == "distance":
            continue
        panels = matrices(chart)
        expected = {
            "table": full(T, encoding.shape.width),
            "similarity": full(T, T),
        }.get(picture, seen)
        assert list(panels) in ([""], ["every head"], ["head 1", "head 2"])
        assert all(cells.keys() == expected for cells in panels.values())


def test_what_only_scales_all_logits_alike_is_no_rotation(built):
    for name in ("tupe", "deberta"):
        encoding = built(f"encoding={name}").net.encoding
        assert "rotation" not in on_logits(encoding, IDS, torch.arange(T))


def test_a_bias_is_drawn_head_by_head(built):
    encoding = built("encoding=alibi").net.encoding
    panels = matrices(encoding_pictures(encoding, IDS)["bias"])
    for head, bias in enumerate(encoding.bias(encoding.prepare(IDS, IDS))[0], start=1):
        assert panels[f"head {head}"] == {
            (i, j): pytest.approx(bias[i, j].item()) for i in range(T) for j in range(T)
        }


def test_many_heads_and_channels_make_no_larger_picture(built):
    bias = encoding_pictures(
        built("encoding=alibi", "model.width=80", "model.heads=40").net.encoding, IDS
    )["bias"]
    assert list(matrices(bias)) == [f"head {head}" for head in range(1, 9)]
    assert bias.title == "added to the logits, the first 8 of 40 heads"
    table = encoding_pictures(built("encoding=learned", "model.width=512").net.encoding, IDS)[
        "table"
    ]
    (cells,) = matrices(table).values()
    assert cells.keys() == full(T, 128)
    assert table.title == "added to the embedding, the first 128 of 512 channels"
    attention = attention_picture(torch.ones(64, 1, 3), ["a", "b", "?"], layer="1 of 2")
    assert len(matrices(attention)) == 8
    assert attention.title == "attention, layer 1 of 2, the first 8 of 64 heads"


def test_similarity_is_the_inner_product(built):
    encoding = built("encoding=learned").net.encoding
    pictures = encoding_pictures(encoding, IDS)
    (cells,) = matrices(pictures["similarity"]).values()
    rows = encoding.table.weight[:T].detach()
    assert cells[1, 4] == pytest.approx(float(rows[1] @ rows[4]), abs=1e-5)
    assert line(pictures["distance"])[""][1] == pytest.approx(cells[3, 4], abs=1e-5)


def test_a_rotation_is_drawn_as_a_function_of_the_distance(built):
    encoding = built("encoding=rope").net.encoding
    pictures = encoding_pictures(encoding, IDS)
    (cells,) = matrices(pictures["rotation"]).values()
    width = encoding.shape.head_width
    waves = [10000 ** (-2 * pair / width) for pair in range(width // 2)]
    for i, j in full(T, T):
        products = [2 * (math.cos((i - j) * wave) - 1) for wave in waves]
        assert cells[i, j] == pytest.approx(sum(products) / width**0.5, abs=1e-5)
    title = pictures["distance"].title
    assert title == ["query at position 3:", "q.k / sqrt(K) of ones, relative to distance 0"]
    (along,) = line(pictures["distance"]).values()
    assert along == {j - 3: pytest.approx(cells[3, j], abs=1e-5) for j in range(T)}


def test_a_causal_query_is_followed_over_all_that_it_sees(built):
    encoding = built("encoding=alibi", "model=decoder").net.encoding
    lines = line(encoding_pictures(encoding, IDS)["distance"])
    assert lines.keys() == {"head 1", "head 2"}
    slope = encoding.slopes[0].item()
    assert lines["head 1"] == {-d: pytest.approx(-slope * d) for d in range(T)}


def test_content_and_all_that_other_hooks_add_are_before_a_score(built):
    """The score of DAPE at q and k of ones is that of its formula; of CoPE, that of its gates."""
    dape = built("encoding=dape").net.encoding
    (added,) = on_logits(dape, IDS, torch.arange(T)).values()
    content = torch.full((1, dape.shape.heads, T, T), dape.shape.head_width**0.5)
    expected = dape.score(content, None, None, dape.prepare(IDS, IDS), None) - content
    torch.testing.assert_close(added, expected[0])
    cope = built("encoding=cope", "model=decoder").net.encoding
    cope.table.data = torch.arange(64.0)[:, None].expand_as(cope.table).clone()
    (added,) = on_logits(cope, IDS, torch.tensor([T - 1])).values()
    gate = torch.tensor(cope.shape.head_width**0.5).sigmoid() * cope.shape.head_width
    torch.testing.assert_close(added[0, 0], gate * torch.arange(T, 0, -1))


def test_of_a_long_text_some_positions_are_drawn_and_named(built):
    encoding = built("encoding=alibi").net.encoding
    pictures = encoding_pictures(encoding, torch.arange(250)[None])
    cells = matrices(pictures["bias"])["head 1"]
    assert cells.keys() == full(84, 84)
    assert cells[2, 5] == pytest.approx(-9 * encoding.slopes[0].item())
    axes = pictures["bias"].to_dict()["spec"]["encoding"]
    assert [axes[axis]["axis"]["labelExpr"] for axis in "xy"] == ["datum.value * 3"] * 2
    assert axes["x"]["title"] == "key position in steps of 3"
    assert len(line(pictures["distance"])["head 1"]) == 250


@pytest.mark.parametrize(
    ("task", "model", "tokens", "length"),
    [
        ("copy", "encoder", 20, 10),
        ("copy", "decoder", 21, 10),
        ("who_bit_whom", "encoder", 64, 63),
        ("copy", "encoder", 1, 1),  # none is so short
    ],
)
def test_the_longest_problem_that_fits_counts_prompt_and_answer(built, task, model, tokens, length):
    task = built(f"task={task}", f"model={model}").task
    assert longest_fitting(task, tokens, causal=model == "decoder") == length


def test_ids_that_are_drawn_are_those_of_an_evaluation(built):
    experiment = built("positions=interpolated", "task=copy", "length.test=60")
    ids = text_ids(experiment, 60, seed=0)
    torch.testing.assert_close(ids, torch.arange(120)[None].double() / 3)
    assert text_ids(built("positions=random"), 10, seed=0).diff().max() > 1


def test_drawing_changes_nothing(encoding_name, built):
    encoding = built(f"encoding={encoding_name}", "model=decoder").net.encoding
    state, rng = {k: v.clone() for k, v in encoding.state_dict().items()}, torch.get_rng_state()
    encoding_pictures(encoding, IDS)
    assert torch.equal(torch.get_rng_state(), rng)
    assert all(torch.equal(value, state[key]) for key, value in encoding.state_dict().items())


@pytest.mark.parametrize("asking", [1, 2, 5])
def test_attention_is_drawn_with_the_tokens_it_belongs_to(asking):
    symbols = ["the", "dog", 'bit"', "the", "?"]
    weights = torch.randn(2, asking, 5, generator=torch.Generator().manual_seed(0)).softmax(-1)
    chart = attention_picture(weights, symbols, layer="3 of 24")
    panels = matrices(chart)
    assert panels.keys() == {"head 1", "head 2"}
    for maps, cells in zip(weights, panels.values(), strict=True):
        assert cells.keys() == full(asking, 5)
        for row in range(asking):
            assert sum(cells[row, column] for column in range(5)) == pytest.approx(1)
        assert cells[0, 1] == pytest.approx(maps[0, 1].item())
    encoding = chart.to_dict()["spec"]["encoding"]
    labels = {axis: encoding[axis]["axis"]["labelExpr"] for axis in "xy"}
    assert labels["x"] == f"{json.dumps(symbols)}[datum.value]"
    assert labels["y"] == f"{json.dumps(symbols[-asking:])}[datum.value]"
    assert "layer 3 of 24" in json.dumps(chart.to_dict()["title"])
