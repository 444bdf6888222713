"""DeBERTa's disentangled attention: every pair by the paper, and against transformers."""

import by_pairs
import pytest
import torch

from posenc.encodings.deberta import DeBERTa
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
def test_every_pair_by_the_formula(causal):
    encoding = DeBERTa(Shape(12, 3, 2, causal=causal), max_distance=4).double()
    keys = encoding.to_keys(encoding.table.weight).unflatten(-1, (3, 4))
    queries = encoding.to_queries(encoding.table.weight).unflatten(-1, (3, 4))

    def delta(i, j):
        if i - j <= -4:
            return 0
        return 7 if i - j >= 4 else i - j + 4

    def logit(head, q, k, i, j):
        from_query = q @ keys[delta(i, j), head]
        from_key = k @ queries[delta(j, i), head]
        return (q @ k + from_query + from_key) / (3 * 4) ** 0.5

    by_pairs.check(encoding, logit)


def test_equals_transformers_once_its_last_term_is_turned_round():
    """Its row r of the last term is row 2m - r of the paper, where no distance reaches m."""
    from transformers import DebertaConfig
    from transformers.models.deberta import modeling_deberta

    tokens = by_pairs.T
    encoding = DeBERTa(Shape(12, 3, 1, causal=False), max_distance=tokens).double()
    config = DebertaConfig(
        hidden_size=12, num_attention_heads=3, relative_attention=True,
        pos_att_type=["c2p", "p2c"], max_relative_positions=tokens, hidden_dropout_prob=0.0,
    )  # fmt: skip
    reference = modeling_deberta.DisentangledSelfAttention(config).double()
    reference.pos_proj.weight.data = encoding.to_keys.weight.data
    reference.pos_q_proj.weight.data = encoding.to_queries.weight.data
    reference.pos_q_proj.bias.data.zero_()
    q, k = by_pairs.content(encoding)
    distances = modeling_deberta.build_relative_position(q, k)
    table, total = encoding.table.weight, 0
    for term, rows in (("c2p", table), ("p2c", table.flip(0).roll(1, 0))):
        reference.pos_att_type = [term]
        total += reference.disentangled_att_bias(q / 12**0.5, k, distances, rows, 3)
    expected = (q @ k.mT / 12**0.5 + total).softmax(-1)
    given = by_pairs.weights(encoding, q, k, torch.arange(tokens)[None])
    torch.testing.assert_close(given, expected, atol=1e-7, rtol=1e-6)


def test_layers_share_the_table_but_not_the_projections(built):
    net = built("encoding=deberta", "model.layers=3").net
    first, *later = net.encodings
    for encoding in later:
        assert encoding.table is first.table
        assert not torch.equal(encoding.to_keys.weight, first.to_keys.weight)
        assert not torch.equal(encoding.to_queries.weight, first.to_queries.weight)


def test_rows_start_as_loud_as_normalised_tokens():
    torch.manual_seed(0)
    table = DeBERTa(Shape(64, 4, 1, causal=False)).table.weight
    assert table.shape == (40, 64)
    assert table.square().mean().item() == pytest.approx(1, rel=0.1)


def test_refuses_a_table_without_rows():
    with pytest.raises(ConfigError, match=r"encoding\.max_distance=0: must be at least 1"):
        DeBERTa(Shape(4, 1, 1, causal=True), max_distance=0)
