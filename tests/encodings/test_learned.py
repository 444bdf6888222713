"""A learned table: which row a token gets, and where the table ends."""

import pytest
import torch

from posenc.encodings.learned import Learned
from posenc.errors import ConfigError
from posenc.shapes import Shape

SHAPE = Shape(8, 2, 1, causal=False)


def test_adds_the_row_of_each_id():
    encoding = Learned(SHAPE, max_length=16)
    x = torch.randn(2, 3, 8)
    ids = torch.tensor([[0, 15, 7], [7, 7, 1]])
    encoded = encoding.embed(x, ids)
    for row in range(2):
        for token in range(3):
            expected = x[row, token] + encoding.table.weight[ids[row, token]]
            assert torch.equal(encoded[row, token], expected)


def test_rows_start_as_loud_as_sinusoidal_ones():
    torch.manual_seed(0)
    rows = Learned(Shape(64, 4, 1, causal=False)).table.weight
    assert rows.square().mean().item() == pytest.approx(0.5, rel=0.02)


def test_works_up_to_its_last_row_and_says_so_beyond():
    encoding = Learned(SHAPE, max_length=16)
    assert encoding.max_length == 16
    assert encoding.embed(torch.zeros(1, 16, 8), torch.arange(16)[None]).isfinite().all()
    with pytest.raises(ConfigError, match=r"encoding\.max_length=16 has no row for position 16"):
        encoding.embed(torch.zeros(1, 17, 8), torch.arange(17)[None])


def test_rows_never_asked_for_are_never_trained():
    encoding = Learned(SHAPE, max_length=16)
    encoding.embed(torch.zeros(1, 5, 8), torch.arange(5)[None]).square().sum().backward()
    moved = encoding.table.weight.grad.abs().sum(-1) > 0
    assert moved.tolist() == [True] * 5 + [False] * 11


def test_refuses_a_table_without_rows():
    with pytest.raises(ConfigError, match=r"encoding\.max_length=0: "):
        Learned(SHAPE, max_length=0)
