"""Sandwich: every pair by the sum of cosines, for ids of any size."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.sandwich import Sandwich
from posenc.errors import ConfigError
from posenc.shapes import Shape


def cosines(distance: float, dimension: int) -> float:
    """The published sum, k = 1 .. D/2."""
    terms = (10000 ** (2 * k / dimension) for k in range(1, dimension // 2 + 1))
    return sum(math.cos(distance / wavelength) for wavelength in terms)


@pytest.mark.parametrize("dimension", [128, 6])
@pytest.mark.parametrize("causal", [False, True])
def test_every_pair_by_the_formula(causal, dimension):
    """The published sum itself: attention does not see what is taken off a whole row."""

    def logit(head, q, k, i, j):
        return q @ k / 2 + cosines(i - j, dimension) / (8 * (head + 1) / 4)

    by_pairs.check(Sandwich(Shape(16, 4, 2, causal=causal), dimension=dimension), logit)


def test_bias_by_hand():
    """D = 2 has one cosine, of frequency 1/10000; four heads divide it by 2, 4, 6 and 8."""
    encoding = Sandwich(Shape(8, 4, 1, causal=True), dimension=2)
    bias = encoding.bias(encoding.prepare(torch.tensor([[10472]]), torch.tensor([[0, 10472]])))
    torch.testing.assert_close(
        bias[0, :, 0, 0], -0.5 / torch.tensor([2.0, 4, 6, 8]), rtol=1e-4, atol=0
    )
    assert bias[..., 1].abs().max() < 1e-12


def test_is_exact_a_million_positions_away():
    encoding = Sandwich(Shape(2, 1, 1, causal=True))
    ids = torch.tensor([[10**6 - 2000, 10**6 - 1, 10**6]])
    bias = encoding.bias(encoding.prepare(ids[:, -1:], ids))[0, 0, 0].tolist()
    assert bias == pytest.approx([(cosines(d, 128) - 64) / 8 for d in (2000, 1, 0)], abs=1e-5)


def test_nothing_is_learned_or_stored():
    encoding = Sandwich(Shape(12, 3, 2, causal=True))
    assert not list(encoding.parameters())
    assert not encoding.state_dict()


@pytest.mark.parametrize("dimension", [0, -2, 7])
def test_refuses_a_dimension_that_is_not_made_of_pairs(dimension):
    with pytest.raises(ConfigError, match=rf"encoding\.dimension={dimension}: must be even"):
        Sandwich(Shape(12, 3, 2, causal=True), dimension=dimension)
