"""PoPE: x-transformers' implementation, the formula by hand, and what delta is for."""

import math

import pytest
import torch
from torch.nn.functional import softplus

from posenc.encodings.pope import PoPE
from posenc.errors import ConfigError
from posenc.shapes import Shape

SHAPE = Shape(16, 2, 1, causal=False)


def heads(tokens: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, tokens, 8, generator=draw)


def scores(encoding: PoPE, q: torch.Tensor, k: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    turned_q, turned_k = encoding.rotate(q, k, encoding.prepare(ids, ids))
    assert turned_q.shape[-1] == turned_k.shape[-1] == 16
    return turned_q @ turned_k.transpose(-1, -2)


def spread_delta(encoding: PoPE) -> PoPE:
    """Values on both sides of the allowed range and within it."""
    with torch.no_grad():
        encoding.delta.uniform_(-8, 2, generator=torch.Generator().manual_seed(2))
    return encoding


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_x_transformers():
    from x_transformers.x_transformers import PolarEmbedding, apply_polar_pos_emb

    encoding, reference = spread_delta(PoPE(SHAPE)), PolarEmbedding(8, 2)
    with torch.no_grad():
        reference.learned_bias.copy_(encoding.delta)
    q, k = heads(40)
    ids = torch.arange(40)
    phases, bias = reference(ids)
    expected = apply_polar_pos_emb(q, phases) @ apply_polar_pos_emb(k, phases + bias).mT
    torch.testing.assert_close(scores(encoding, q, k, ids[None]), expected, atol=1e-5, rtol=1e-5)


def test_every_pair_is_the_formula():
    encoding = spread_delta(PoPE(SHAPE, base=100.0))
    q, k = heads(4)
    ids = torch.tensor([[3, 900, 0, 7], [0, 1, 2, 10**6], [5, 5, 5, 5]])
    seen = scores(encoding, q, k, ids)
    delta = encoding.delta[:, 0].double().clamp(-2 * math.pi, 0)
    channel = torch.arange(8).double()
    for row, query, key in ((0, 1, 2), (0, 2, 1), (1, 0, 3), (1, 3, 1), (2, 0, 1)):
        angle = (ids[row, key] - ids[row, query]) * 100.0 ** (-channel / 8) + delta
        product = softplus(q[row, :, query].double()) * softplus(k[row, :, key].double())
        expected = (product * angle.cos()).sum(-1).float()
        torch.testing.assert_close(seen[row, :, query, key], expected, atol=1e-5, rtol=1e-5)


def test_starts():
    assert not PoPE(SHAPE).delta.any()
    torch.manual_seed(0)
    delta = PoPE(Shape(1024, 2, 1, causal=False), start="uniform").delta
    assert delta.min() >= -2 * math.pi
    assert delta.max() <= 0
    assert delta.mean().item() == pytest.approx(-math.pi, abs=0.2)


def test_delta_tells_left_from_right():
    q, k = heads(1).expand(2, 3, 2, 9, 8)
    ids = torch.arange(9)[None]
    even = scores(PoPE(SHAPE), q, k, ids)
    torch.testing.assert_close(even, even.mT)
    odd = scores(PoPE(SHAPE, start="uniform"), q, k, ids)
    assert (odd - odd.mT).abs().max() > 0.1


def test_delta_that_leaves_its_range_counts_as_the_end_of_it():
    encoding, q, k = PoPE(SHAPE), *heads(5)
    ids = torch.arange(5)[None]
    expected = scores(encoding, q, k, ids)
    with torch.no_grad():
        encoding.delta.fill_(3.0)
    torch.testing.assert_close(scores(encoding, q, k, ids), expected, atol=0, rtol=0)
    assert (encoding.delta == 3).all(), "the parameter itself is not written"


def test_refuses_an_unknown_start():
    with pytest.raises(ConfigError, match=r"encoding\.start=one: choose one of zero, uniform"):
        PoPE(SHAPE, start="one")
    with pytest.raises(ConfigError, match=r"encoding\.base=0"):
        PoPE(SHAPE, base=0)
