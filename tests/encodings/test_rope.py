"""Rotations: their algebra, Llama's implementation, and what is refused."""

import pytest
import torch

from posenc.encodings.rope import RoPE
from posenc.errors import ConfigError
from posenc.shapes import Shape


def turn(encoding: RoPE, q: torch.Tensor, k: torch.Tensor, query_ids, key_ids):
    return encoding.rotate(q, k, encoding.prepare(query_ids, key_ids))


def heads(width: int, tokens: int, dtype=torch.float32):
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, tokens, width, generator=draw, dtype=dtype)


def test_scores_depend_on_the_difference_of_ids_alone():
    q, k = heads(8, 1, torch.float64)
    encoding = RoPE(Shape(16, 2, 1, causal=False))
    scores = []
    for offset in (0, 1, 10, 100):
        ids = torch.tensor([[5 + offset]]), torch.tensor([[2 + offset]])
        turned_q, turned_k = turn(encoding, q, k, *ids)
        scores.append((turned_q * turned_k).sum(-1))
    assert (torch.stack(scores) - scores[0]).abs().max() < 1e-12


def test_scores_are_those_of_the_formula():
    """In complex numbers, one a pair: the real part of sum q conj(k) e^(i (i-j) frequency)."""
    q, k = heads(8, 1, torch.float64)
    query_id, key_id = 17, 4
    turned_q, turned_k = turn(
        RoPE(Shape(16, 2, 1, causal=False)), q, k, *torch.tensor([[[query_id]], [[key_id]]])
    )
    pairs_q, pairs_k = (torch.complex(*part.chunk(2, dim=-1)) for part in (q, k))
    angles = torch.tensor([(query_id - key_id) * 10000 ** (-c / 4) for c in range(4)])
    turns = torch.polar(torch.ones(4, dtype=torch.float64), angles.double())
    expected = (pairs_q * turns * pairs_k.conj()).real.sum(-1)
    torch.testing.assert_close((turned_q * turned_k).sum(-1), expected, atol=1e-5, rtol=0)


def test_position_zero_is_the_identity_and_norms_are_kept():
    q, k = heads(8, 5)
    encoding = RoPE(Shape(16, 2, 1, causal=False))
    still = turn(encoding, q, k, torch.zeros(1, 5).long(), torch.zeros(1, 5).long())
    torch.testing.assert_close(still, (q, k), atol=0, rtol=0)
    turned_q, turned_k = turn(encoding, q, k, torch.arange(5)[None], torch.arange(5)[None])
    torch.testing.assert_close(turned_q.norm(dim=-1), q.norm(dim=-1))
    torch.testing.assert_close(turned_k.norm(dim=-1), k.norm(dim=-1))
    assert (turned_q - q)[:, :, 1:].abs().max() > 0.1


@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.parametrize("width", [2, 8, 64])
def test_equals_llama(width, base):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import (
        LlamaRotaryEmbedding,
        apply_rotary_pos_emb,
    )

    config = LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    llama = LlamaRotaryEmbedding(config)

    q, k = heads(width, 40)
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(30, (3, 40), generator=draw)
    expected = apply_rotary_pos_emb(q, k, *llama(q, ids))
    turned = turn(RoPE(Shape(2 * width, 2, 1, causal=True), base=base), q, k, ids, ids)
    torch.testing.assert_close(turned, expected, atol=1e-5, rtol=0)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_the_published_pairs_after_a_permutation():
    from rotary_embedding_torch import RotaryEmbedding

    q, k = heads(16, 12)
    neighbours = torch.arange(16).view(2, 8).T.flatten()
    turned, _ = turn(
        RoPE(Shape(32, 2, 1, causal=True)), q, k, torch.arange(12)[None], torch.arange(12)[None]
    )
    expected = RotaryEmbedding(16).rotate_queries_or_keys(q[..., neighbours])
    torch.testing.assert_close(turned[..., neighbours], expected, atol=1e-5, rtol=0)


def test_bfloat16_rounds_the_tables_and_not_the_phases():
    tokens = 4096
    encoding = RoPE(Shape(64, 1, 1, causal=True)).to(torch.bfloat16)
    ids = torch.arange(tokens)[None]
    q = torch.zeros(1, 1, tokens, 64, dtype=torch.bfloat16)
    q[..., :32] = 1
    turned, _ = turn(encoding, q, q, ids, ids)
    phases = torch.arange(tokens)[:, None] * 10000.0 ** (-torch.arange(32).double() / 32)
    expected = torch.cat([phases.cos(), phases.sin()], dim=-1)
    assert (turned[0, 0].double() - expected).abs().max() <= 2e-3


@pytest.mark.parametrize(("width", "count"), [(5, 1), (12, 4), (6, 2)])
def test_refuses_heads_of_odd_width(width, count):
    with pytest.raises(ConfigError, match=rf"model\.width={width} .*model\.heads={count} "):
        RoPE(Shape(width, count, 1, causal=False))


def test_refuses_a_base_that_is_not_positive():
    with pytest.raises(ConfigError, match=r"encoding\.base=0"):
        RoPE(Shape(8, 2, 1, causal=False), base=0)
