"""xPos: other implementations, the decay by hand, and ids far from 0."""

import math

import pytest
import torch

from posenc.encodings.rope import RoPE
from posenc.encodings.xpos import XPos
from posenc.errors import ConfigError
from posenc.shapes import Shape

SHAPE = Shape(32, 2, 1, causal=True)


def heads(tokens: int, width: int = 16, dtype=torch.float32) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, tokens, width, generator=draw, dtype=dtype)


def scores(encoding: RoPE, q: torch.Tensor, k: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    turned_q, turned_k = encoding.rotate(q, k, encoding.prepare(ids, ids))
    return turned_q @ turned_k.transpose(-1, -2)


@pytest.mark.parametrize("scale_base", [512.0, 16.0])
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_x_transformers(scale_base):
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    q, k = heads(12)
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(300, (3, 12), generator=draw).sort(-1).values
    reference = RotaryEmbedding(16, use_xpos=True, scale_base=scale_base)
    neighbours = torch.arange(16).view(2, 8).T.flatten()
    expected = []
    for row in range(3):
        freqs, scale = reference(ids[row])
        turned_q = apply_rotary_pos_emb(q[row : row + 1, ..., neighbours], freqs, scale)
        turned_k = apply_rotary_pos_emb(k[row : row + 1, ..., neighbours], freqs, scale**-1)
        expected.append(turned_q @ turned_k.transpose(-1, -2))
    ours = scores(XPos(SHAPE, scale_base=scale_base), q, k, ids)
    past = torch.ones(12, 12).tril().bool()
    torch.testing.assert_close(
        ours[..., past], torch.cat(expected)[..., past], atol=1e-4, rtol=1e-5
    )


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding

    q, k = heads(40)
    neighbours = torch.arange(16).view(2, 8).T.flatten()
    reference = RotaryEmbedding(16, use_xpos=True)
    turned_q, turned_k = reference.rotate_queries_and_keys(q[..., neighbours], k[..., neighbours])
    ours = scores(XPos(SHAPE), q, k, torch.arange(40)[None])
    torch.testing.assert_close(ours, turned_q @ turned_k.transpose(-1, -2), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("start", [0, 4095, 10**5, 10**6])
def test_every_pair_is_the_formula_wherever_the_ids_start(start):
    """In float64, pair by pair; the last id lies 8,000 past the first."""
    offsets = [0, 1, 2, 30, 700, 5000, 8000]
    q, k = heads(len(offsets), 4, torch.float64)
    encoding = XPos(Shape(8, 2, 1, causal=True))
    seen = scores(encoding, q, k, torch.tensor([offsets]) + start)
    for query, i in enumerate(offsets):
        for key, j in enumerate(offsets[: query + 1]):
            expected = torch.zeros(3, 2, dtype=torch.float64)
            for c in range(2):
                zeta = (2 * c / 4 + 0.4) / 1.4
                angle = (i - j) * 10000 ** (-2 * c / 4)
                cos, sin = math.cos(angle), math.sin(angle)
                (a, b), (x, y) = q[:, :, query, c::2].unbind(-1), k[:, :, key, c::2].unbind(-1)
                turned = (a * x + b * y) * cos + (a * y - b * x) * sin
                expected += zeta ** ((i - j) / 512) * turned
            torch.testing.assert_close(seen[:, :, query, key], expected, atol=1e-8, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_all_orders_of_far_ids_are_finite(dtype):
    """Also in what the mask hides: infinity minus infinity would survive it as nan."""
    q, k = (100 * heads(5)).to(dtype)
    for first in (0, 5 * 10**5, 10**6):
        ids = torch.tensor([[first, 10**6, 0, 5 * 10**5, 3]])
        assert scores(XPos(SHAPE), q, k, ids).isfinite().all()


def test_later_ids_do_not_change_earlier_queries_and_keys():
    encoding, parts = XPos(SHAPE), heads(6)
    ids = torch.tensor([[5000, 5001, 5009, 5100, 6000, 8000]])
    whole = encoding.rotate(*parts, encoding.prepare(ids, ids))
    first = parts[..., :3, :]
    alone = encoding.rotate(*first, encoding.prepare(ids[:, :3], ids[:, :3]))
    for part, expected in zip(whole, alone, strict=True):
        torch.testing.assert_close(part[..., :3, :], expected, atol=0, rtol=0)


def test_without_decay_it_is_rope():
    q, k = heads(20)
    ids = torch.arange(20)[None]
    expected = scores(RoPE(SHAPE), q, k, ids)
    torch.testing.assert_close(scores(XPos(SHAPE, scale_base=1e12), q, k, ids), expected)


def test_refuses_an_encoder():
    with pytest.raises(ConfigError, match=r"encoding=xpos .*model=decoder"):
        XPos(Shape(32, 2, 1, causal=False))


@pytest.mark.parametrize("scale_base", [0.0, -1.0, math.nan])
def test_refuses_a_scale_that_is_not_positive(scale_base):
    with pytest.raises(ConfigError, match=rf"encoding\.scale_base={scale_base}: "):
        XPos(SHAPE, scale_base=scale_base)
