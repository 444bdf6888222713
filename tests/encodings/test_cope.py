"""CoPE's counted positions: against another implementation, and where counting could go wrong."""

import by_pairs
import pytest
import torch

from posenc.encodings.alibi import ALiBi
from posenc.encodings.combined import Combined
from posenc.encodings.cope import CoPE
from posenc.errors import ConfigError
from posenc.shapes import Shape

SHAPE = Shape(12, 3, 1, causal=True)


def encoding(shape: Shape = SHAPE, rows: int = 4) -> CoPE:
    cope = CoPE(shape, rows=rows)
    torch.nn.init.normal_(cope.table, generator=torch.Generator().manual_seed(3))
    return cope


def counted(cope: CoPE, gates: list[float]) -> torch.Tensor:
    """(T,): what the last of T queries of ones adds to logits of +-1000, that is to open gates."""
    q = torch.ones(1, 1, 1, cope.shape.head_width, dtype=cope.table.dtype)
    logits = torch.tensor(gates, dtype=q.dtype)[None, None, None] * 2000 - 1000
    return (cope.score(logits, q, q, None, None) - logits)[0, 0, 0]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("rows", [2, 4, 64])
def test_equals_x_transformers(rows):
    from x_transformers.x_transformers import CoPE as Reference

    cope = encoding(rows=rows).double()
    reference = Reference(dim=4, heads=3, max_pos=rows).double()
    reference.pos_emb.data = cope.table.data
    q, k = by_pairs.content(cope)
    tokens = q.shape[2]
    ahead = torch.ones(tokens, tokens).bool().triu(1)
    logits = (q @ k.mT / 4**0.5).masked_fill(ahead, torch.finfo(q.dtype).min)
    expected = (logits + reference(q, logits)).softmax(-1)
    given = by_pairs.weights(cope, q, k, torch.arange(tokens)[None])
    torch.testing.assert_close(given, expected, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("biased", [False, True])
def test_every_row_by_the_formula(biased):
    """Gates see a bias that stands beside them, as the logits do."""
    cope, alibi = encoding(rows=3).double(), ALiBi(SHAPE).double()
    q, k = by_pairs.content(cope)
    bias = alibi.bias(alibi.prepare(by_pairs.IDS, by_pairs.IDS)) * biased
    whole = Combined(SHAPE, parts=[cope, alibi]) if biased else cope
    given = by_pairs.weights(whole, q, k, by_pairs.IDS)
    for row, head, i in torch.ones(q.shape[:3]).nonzero().tolist():
        query = q[row, head, i]
        before = k[row, head, : i + 1] @ query / 2 + bias[row, head, i, : i + 1]
        logits = []
        for j in range(i + 1):
            position = min(sum(logit.sigmoid().item() for logit in before[j:]), 2.0)
            below = min(int(position), 1)
            part = position - below
            vector = (1 - part) * cope.table[below] + part * cope.table[below + 1]
            logits.append(before[j] + query @ vector)
        expected = torch.stack(logits).softmax(-1)
        torch.testing.assert_close(given[row, head, i, : i + 1], expected, atol=1e-12, rtol=1e-9)


def test_open_gates_count_tokens_and_stop_at_the_last_row():
    cope = encoding(Shape(1, 1, 1, causal=True)).double()
    zero, one, two, three = cope.table[:, 0].tolist()
    assert counted(cope, [1, 1, 1, 1, 1]).tolist() == pytest.approx([three, three, three, two, one])
    assert counted(cope, [1, 0, 1, 0]).tolist() == pytest.approx([two, one, one, zero])


def test_counts_past_what_bfloat16_can():
    cope = CoPE(Shape(1, 1, 1, causal=True), rows=600)
    cope.table.data[::2] = 1000.0
    added = counted(cope.to(torch.bfloat16), [1.0] * 500)
    assert (added != 0).tolist() == [count % 2 == 0 for count in range(500, 0, -1)]


def test_positions_do_not_see_ids():
    q, k = by_pairs.content(encoding())
    given = (
        by_pairs.weights(encoding().double(), q, k, ids) for ids in (by_pairs.IDS, by_pairs.IDS * 3)
    )
    torch.testing.assert_close(*given, atol=0, rtol=0)


def test_starts_as_no_encoding_with_a_gradient():
    cope = CoPE(SHAPE).double()
    q, k = by_pairs.content(cope)
    plain = (q @ k.mT / 4**0.5).masked_fill(torch.ones(7, 7).bool().triu(1), -torch.inf)
    given = by_pairs.weights(cope, q, k, by_pairs.IDS)
    torch.testing.assert_close(given, plain.softmax(-1))
    given.square().sum().backward()
    assert cope.table.grad.abs().max() > 1e-3


def test_refuses_one_row_and_a_model_that_looks_ahead():
    with pytest.raises(ConfigError, match=r"encoding\.rows=1: must be at least 2"):
        CoPE(SHAPE, rows=1)
    with pytest.raises(ConfigError, match="encoding=cope is defined for causal models alone"):
        CoPE(Shape(12, 3, 1, causal=False))
