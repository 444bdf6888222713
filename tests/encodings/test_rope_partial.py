"""Partial RoPE: GPT-NeoX's implementation, the channels left alone, and what is refused."""

import pytest
import torch

from posenc.encodings.rope import RoPE
from posenc.encodings.rope_partial import PartialRoPE
from posenc.errors import ConfigError
from posenc.shapes import Shape


def turn(encoding, q, k, ids):
    return encoding.rotate(q, k, encoding.prepare(ids, ids))


def heads(width: int, tokens: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, tokens, width, generator=draw)


@pytest.mark.parametrize(("width", "fraction"), [(16, 0.25), (64, 0.5), (8, 0.75), (8, 1.0)])
def test_equals_gpt_neox(width, fraction):
    from transformers import GPTNeoXConfig
    from transformers.models.gpt_neox import modeling_gpt_neox as neox

    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": fraction}
    config = GPTNeoXConfig(hidden_size=2 * width, num_attention_heads=2, rope_parameters=rope)
    q, k = heads(width, 40)
    ids = torch.randint(30, (3, 40), generator=torch.Generator().manual_seed(1))
    tables = neox.GPTNeoXRotaryEmbedding(config)(q, ids)
    expected = neox.apply_rotary_pos_emb(q, k, *tables)
    encoding = PartialRoPE(Shape(2 * width, 2, 1, causal=True), fraction=fraction)
    torch.testing.assert_close(turn(encoding, q, k, ids), expected, atol=1e-5, rtol=0)


def test_the_other_channels_are_left_alone():
    q, k = heads(16, 5)
    ids = torch.arange(5)[None] + 7
    turned_q, turned_k = turn(PartialRoPE(Shape(32, 2, 1, causal=False)), q, k, ids)
    assert torch.equal(turned_q[..., 4:], q[..., 4:])
    assert torch.equal(turned_k[..., 4:], k[..., 4:])
    assert (turned_q - q)[..., :4].abs().amax(dim=(0, 1, 2)).min() > 0.01


def test_the_whole_head_is_rope():
    q, k = heads(8, 9)
    shape, ids = Shape(16, 2, 1, causal=False), torch.arange(9)[None]
    expected = turn(RoPE(shape, base=100.0), q, k, ids)
    whole = turn(PartialRoPE(shape, fraction=1.0, base=100.0), q, k, ids)
    torch.testing.assert_close(whole, expected, atol=0, rtol=0)


@pytest.mark.parametrize(("width", "fraction"), [(10, 0.6), (20, 0.3), (49, 2 / 7), (100, 0.58)])
def test_fractions_that_floating_point_misses_are_met(width, fraction):
    encoding = PartialRoPE(Shape(width, 1, 1, causal=False), fraction=fraction)
    assert encoding.turning == round(width * fraction)


@pytest.mark.parametrize(
    ("width", "fraction", "channels"),
    [(8, 0.125, "1"), (8, 0.25 + 1 / 32, "2.25"), (8, 0.0, "0"), (8, -0.25, "-2"), (8, 1.25, "10"),
     (6, 0.5, "3"), (5, 1.0, "5"), (8, float("nan"), "nan")],
)  # fmt: skip
def test_refuses_other_than_an_even_number_of_channels(width, fraction, channels):
    with pytest.raises(
        ConfigError, match=rf"encoding\.fraction={fraction}: would turn {channels} "
    ):
        PartialRoPE(Shape(width, 1, 1, causal=False), fraction=fraction)
