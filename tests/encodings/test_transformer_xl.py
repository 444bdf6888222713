"""Transformer-XL's distances: every pair by the formula, and against XLNet's attention."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.transformer_xl import TransformerXL
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [12, 9])
def test_every_pair_by_the_formula(causal, width):
    encoding = TransformerXL(Shape(width, 3, 2, causal=causal), base=50.0).double()
    u, v = encoding.u[:, 0], encoding.v[:, 0]
    frequencies = [50.0 ** (-2 * c / width) for c in range(math.ceil(width / 2))]

    def logit(head, q, k, i, j):
        phases = [(i - j) * frequency for frequency in frequencies]
        waves = [math.sin(phase) for phase in phases] + [math.cos(phase) for phase in phases]
        keys = encoding.to_keys(torch.tensor(waves, dtype=torch.float64)).chunk(3)
        return ((q + u[head]) @ k + (q + v[head]) @ keys[head]) / len(q) ** 0.5

    by_pairs.check(encoding, logit)


def test_equals_xlnet():
    from transformers import XLNetConfig
    from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention

    encoding = TransformerXL(Shape(12, 3, 1, causal=False)).double()
    reference = XLNetRelativeAttention(XLNetConfig(d_model=12, n_head=3, d_inner=12, dropout=0.0))
    reference.r_w_bias.data = encoding.u.data[:, 0]
    reference.r_r_bias.data = encoding.v.data[:, 0]
    q, k = by_pairs.content(encoding)
    tokens = q.shape[2]
    distances = torch.arange(tokens, -tokens, -1.0, dtype=torch.float64)
    frequencies = 10000 ** -(torch.arange(0, 12, 2, dtype=torch.float64) / 12)
    waves = XLNetModel.positional_embedding(distances, frequencies, bsz=len(q))
    far = encoding.to_keys(waves).unflatten(-1, (3, 4))
    queries, keys = (x.permute(2, 0, 1, 3) for x in (q, k))
    _, expected = reference.rel_attn_core(queries, keys, keys, far, output_attentions=True)
    given = by_pairs.weights(encoding, q, k, torch.arange(tokens)[None])
    torch.testing.assert_close(given, expected.permute(2, 3, 0, 1), atol=1e-12, rtol=1e-9)


def test_far_apart_is_as_exact_as_near():
    encoding = TransformerXL(Shape(16, 2, 1, causal=False))
    q, k = torch.randn(2, 1, 2, 5, 8)
    near = torch.arange(5)[None]
    given = by_pairs.weights(encoding, q, k, near + 10**6)
    torch.testing.assert_close(given, by_pairs.weights(encoding, q, k, near), atol=1e-5, rtol=1e-5)


def test_real_ids_are_positions_too():
    encoding = TransformerXL(Shape(16, 2, 1, causal=False))
    q, k = torch.randn(2, 1, 2, 3, 8)
    ids = torch.tensor([[0.0, 0.25, 1.0]])
    given = by_pairs.weights(encoding, q, k, ids)
    torch.testing.assert_close(given, by_pairs.weights(encoding, q, k, ids + 0.5))
    assert not torch.allclose(given, by_pairs.weights(encoding, q, k, torch.arange(3)[None]))


def test_layers_share_the_queries_but_not_the_matrix(built):
    first, second = built("encoding=transformer_xl", "model.layers=2").net.encodings
    assert first.u is second.u
    assert first.v is second.v
    assert not torch.equal(first.to_keys.weight, second.to_keys.weight)


def test_starts_as_published():
    torch.manual_seed(0)
    encoding = TransformerXL(Shape(256, 4, 1, causal=False))
    for queries in (encoding.u, encoding.v):
        assert queries.std().item() == pytest.approx(0.02, rel=0.2)


def test_refuses_a_base_that_is_not_positive():
    with pytest.raises(ConfigError, match=r"encoding\.base=0"):
        TransformerXL(Shape(16, 2, 1, causal=False), base=0.0)
