"""What is drawn of an encoding and of attention, read back from the charts."""

import json
from collections import defaultdict

import pytest
import torch

from posenc.encodings.base import Encoding
from posenc.training.pictures import attention_picture, encoding_pictures

T = 6
EXPECTED = {
    "none": set(),
    "index": {"table", "similarity"},
    "sinusoidal": {"table", "similarity"},
    "learned": {"table", "similarity"},
    "rope": {"rotation"},
    "alibi": {"bias"},
    "t5": {"bias"},
}


def matrices(chart):
    """panel -> {(row, column): value}."""
    found = defaultdict(dict)
    (cells,) = chart.to_dict()["datasets"].values()
    for cell in cells:
        found[cell["panel"]][cell["row"], cell["column"]] = cell["value"]
    return found


def full(rows, columns):
    return {(row, column) for row in range(rows) for column in range(columns)}


def test_every_hook_that_does_something_is_drawn(encoding_name, model_name, built):
    encoding = built(f"encoding={encoding_name}", f"model={model_name}").net.encoding
    pictures = encoding_pictures(encoding, T)
    hooks = {"table": "embed", "similarity": "embed", "rotation": "rotate", "bias": "bias"}
    own = {
        p
        for p, hook in hooks.items()
        if getattr(type(encoding), hook) is not getattr(Encoding, hook)
    }
    assert pictures.keys() == EXPECTED.get(encoding_name, own)
    for picture, chart in pictures.items():
        panels = matrices(chart)
        assert len(panels) == (encoding.shape.heads if picture == "bias" else 1)
        columns = encoding.shape.width if picture == "table" else T
        assert all(cells.keys() == full(T, columns) for cells in panels.values())


def test_a_bias_is_drawn_head_by_head(built):
    encoding = built("encoding=alibi").net.encoding
    panels = matrices(encoding_pictures(encoding, T)["bias"])
    ids = torch.arange(T)[None]
    for head, bias in enumerate(encoding.bias(encoding.prepare(ids, ids))[0], start=1):
        assert panels[f"head {head}"] == {
            (i, j): pytest.approx(bias[i, j].item()) for i in range(T) for j in range(T)
        }


def test_many_heads_and_channels_make_no_larger_picture(built):
    bias = encoding_pictures(
        built("encoding=alibi", "model.width=80", "model.heads=40").net.encoding, T
    )["bias"]
    assert list(matrices(bias)) == [f"head {head}" for head in range(1, 9)]
    assert bias.title == "added to the logits, the first 8 of 40 heads"
    table = encoding_pictures(built("encoding=learned", "model.width=512").net.encoding, T)["table"]
    (cells,) = matrices(table).values()
    assert cells.keys() == full(T, 128)
    assert table.title == "added to the embedding, the first 128 of 512 channels"
    attention = attention_picture(torch.ones(64, 1, 3), ["a", "b", "?"], layer="1 of 2")
    assert len(matrices(attention)) == 8
    assert attention.title == "attention, layer 1 of 2, the first 8 of 64 heads"


def test_similarity_is_one_on_the_diagonal(built):
    (cells,) = matrices(
        encoding_pictures(built("encoding=sinusoidal").net.encoding, T)["similarity"]
    ).values()
    assert all(cells[i, i] == pytest.approx(1, abs=1e-5) for i in range(T))


def test_a_rotation_is_drawn_as_a_function_of_the_distance(built):
    (cells,) = matrices(
        encoding_pictures(built("encoding=rope").net.encoding, T)["rotation"]
    ).values()
    for i, j in full(T - 1, T - 1):
        assert cells[i, j] == pytest.approx(cells[i + 1, j + 1], abs=1e-6)
    assert cells[0, 0] == pytest.approx(1)


def test_drawing_changes_nothing(encoding_name, built):
    encoding = built(f"encoding={encoding_name}", "model=decoder").net.encoding
    state, rng = {k: v.clone() for k, v in encoding.state_dict().items()}, torch.get_rng_state()
    encoding_pictures(encoding, T)
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
