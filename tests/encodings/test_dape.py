"""DAPE: every pair by the formula over each base, and what its layers share."""

import by_pairs
import pytest
import torch
from torch.nn.functional import leaky_relu

from posenc.encodings.combined import Combined
from posenc.encodings.dape import BASES, DAPE
from posenc.encodings.t5 import T5
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("biased", [False, True])
def test_every_pair_by_the_formula(causal, base, biased):
    """A bias that stands beside it counts as content."""
    shape = Shape(12, 3, 2, causal=causal)
    encoding, t5 = DAPE(shape, base=base).double(), T5(shape).double()
    q, k = by_pairs.content(encoding)
    beside = t5.bias(t5.prepare(by_pairs.IDS, by_pairs.IDS)) * biased
    biases = encoding.base.bias(encoding.base.prepare(by_pairs.IDS, by_pairs.IDS))

    expected = torch.full(q.shape[:3] + q.shape[2:3], -torch.inf, dtype=torch.float64)
    for row, i, j in torch.ones(len(q), by_pairs.T, by_pairs.T).nonzero().tolist():
        if j <= i or not causal:
            content = (q[row, :, i] * k[row, :, j]).sum(-1) / 4**0.5 + beside[row, :, i, j]
            bias = biases[row, :, i, j]
            hidden = leaky_relu(encoding.hidden(torch.cat([content, bias])), 0.01)
            expected[row, :, i, j] = content + bias + encoding.out(hidden)
    whole = Combined(shape, parts=[encoding, t5]) if biased else encoding
    given = by_pairs.weights(whole, q, k, by_pairs.IDS)
    torch.testing.assert_close(given, expected.softmax(-1), atol=1e-12, rtol=1e-9)


def test_without_its_network_it_is_its_base():
    encoding = DAPE(Shape(12, 3, 1, causal=True)).double()
    torch.nn.init.zeros_(encoding.out.weight)
    q, k = by_pairs.content(encoding)
    alone = by_pairs.weights(encoding.base, q, k, by_pairs.IDS)
    torch.testing.assert_close(by_pairs.weights(encoding, q, k, by_pairs.IDS), alone)


@pytest.mark.parametrize("base", BASES)
def test_layers_share_the_base_as_it_is_shared_alone(built, base):
    first, second = built("encoding=dape", f"encoding.base={base}", "model.layers=2").net.encodings
    assert (first.base is second.base) != first.base.per_layer
    assert not torch.equal(first.hidden.weight, second.hidden.weight)


def test_hands_the_threshold_to_fire():
    assert DAPE(Shape(12, 3, 1, causal=True), base="fire", threshold=20).base.threshold == 20
    with pytest.raises(ConfigError, match=r"encoding\.threshold=0"):
        DAPE(Shape(12, 3, 1, causal=True), base="fire", threshold=0)


def test_refuses_another_base():
    with pytest.raises(ConfigError, match=r"base=t5: choose one of alibi, kerple_log, fire"):
        DAPE(Shape(12, 3, 1, causal=True), base="t5")
