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


def test_refuses_an_unknown_policy():
    with pytest.raises(ConfigError, match=r"encoding\.past_end=wrap: choose one of error, clamp"):
        Learned(SHAPE, past_end="wrap")


@pytest.mark.parametrize("past_end", ["clamp", "interpolate"])
def test_policies_without_an_end_change_nothing_within_the_table(past_end):
    torch.manual_seed(0)
    plain = Learned(SHAPE, max_length=16)
    torch.manual_seed(0)
    endless = Learned(SHAPE, max_length=16, past_end=past_end)
    assert (plain.max_length, endless.max_length) == (16, None)
    assert torch.equal(plain.table.weight, endless.table.weight)
    x, ids = torch.randn(2, 3, 8), torch.tensor([[0, 15, 7], [9, 7, 1]])
    torch.testing.assert_close(endless.embed(x, ids), plain.embed(x, ids), atol=0, rtol=0)


def test_clamped_ids_take_the_last_row():
    encoding = Learned(SHAPE, max_length=16, past_end="clamp")
    added = encoding.embed(torch.zeros(1, 4, 8), torch.tensor([[14, 15, 16, 10**6]]))[0]
    assert torch.equal(added, encoding.table.weight[[14, 15, 15, 15]])


def test_interpolated_rows_by_hand():
    """Five rows under ids up to 8: two ids to a row, every second one halfway between two."""
    encoding = Learned(SHAPE, max_length=5, past_end="interpolate")
    ids = torch.tensor([[8, 0, 3, 7, 4], [4, 0, 3, 1, 4]])
    added = encoding.embed(torch.zeros(2, 5, 8), ids)
    rows = encoding.table.weight
    halves = torch.stack([rows[4], rows[0], (rows[1] + rows[2]) / 2, (rows[3] + rows[4]) / 2])
    torch.testing.assert_close(added[0], torch.cat([halves, rows[2:3]]))
    assert torch.equal(added[1], rows[[4, 0, 3, 1, 4]]), "a row that fits is left as it is"


def test_interpolation_takes_real_ids_and_a_single_row():
    encoding = Learned(SHAPE, max_length=5, past_end="interpolate")
    assert encoding.real_ids
    assert not Learned(SHAPE).real_ids
    added = encoding.embed(torch.zeros(1, 2, 8), torch.tensor([[0.25, 4.0]]))[0]
    rows = encoding.table.weight
    torch.testing.assert_close(added, torch.stack([0.75 * rows[0] + 0.25 * rows[1], rows[4]]))
    single = Learned(SHAPE, max_length=1, past_end="interpolate")
    assert torch.equal(
        single.embed(torch.zeros(1, 3, 8), torch.tensor([[0, 1, 9]]))[0],
        single.table.weight[[0, 0, 0]],
    )


@pytest.mark.parametrize("past_end", ["clamp", "interpolate"])
def test_policies_without_an_end_trace_to_one_graph_and_stay_finite(past_end):
    torch._dynamo.reset()
    encoding = Learned(SHAPE, past_end=past_end)
    ids = torch.tensor([[0, 1, 511, 512, 10**6]])
    x = torch.randn(1, 5, 8)
    compiled = torch.compile(encoding.embed, fullgraph=True, backend="eager")
    assert compiled(x, ids).isfinite().all()
    torch.testing.assert_close(compiled(x, ids), encoding.embed(x, ids), atol=0, rtol=0)
    low = encoding.to(torch.bfloat16).embed(x.bfloat16(), ids)
    assert low.dtype == torch.bfloat16
