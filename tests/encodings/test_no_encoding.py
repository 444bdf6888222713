"""NoPE: ids change nothing at all."""

import torch

from posenc.encodings.none import NoPE
from posenc.shapes import Shape


def test_leaves_everything_as_it_is():
    encoding = NoPE(Shape(8, 2, 1, causal=False))
    x, q, k = torch.randn(2, 5, 8), torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    ids = torch.arange(5)[None]
    tables = encoding.prepare(ids[:, -3:], ids)
    assert encoding.embed(x, ids) is x
    assert encoding.rotate(q, k, tables) == (q, k)
    assert encoding.bias(tables) is None
    assert encoding.score is None
    assert not list(encoding.parameters())
