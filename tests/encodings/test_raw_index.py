"""The raw index: what it adds, and the trap that a learned direction avoids."""

import torch
from torch.nn.functional import layer_norm

from posenc.encodings.index import Index
from posenc.shapes import Shape

SHAPE = Shape(64, 4, 2, causal=False)


def test_adds_the_id_along_one_direction():
    encoding = Index(SHAPE)
    x = torch.randn(1, 3, 64)
    added = encoding.embed(x, torch.tensor([[0, 1, 30]])) - x
    torch.testing.assert_close(
        added[0], torch.outer(torch.tensor([0.0, 1, 30]), encoding.direction)
    )


def test_one_step_is_about_one_unit_whatever_the_width():
    torch.manual_seed(0)
    for width in (64, 1024):
        length = Index(Shape(width, 1, 1, causal=False)).direction.norm().item()
        assert 0.7 < length < 1.3


def test_layer_norm_undoes_a_bare_number_but_not_a_direction():
    x = torch.randn(1, 9, 64)
    ids = torch.arange(9)[None]
    plain = layer_norm(x, (64,))
    bare = layer_norm(x + ids[..., None], (64,))
    torch.testing.assert_close(bare, plain, atol=1e-4, rtol=0)
    directed = layer_norm(Index(SHAPE).embed(x, ids), (64,))
    assert (directed - plain)[:, 1:].abs().amax(-1).min() > 0.05


def test_grows_without_bound():
    encoding = Index(SHAPE)
    sizes = encoding.embed(torch.zeros(1, 4, 64), torch.tensor([[1, 10, 100, 1000]])).norm(dim=-1)
    assert torch.allclose(sizes[0, 1:] / sizes[0, :-1], torch.tensor(10.0))
