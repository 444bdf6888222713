"""Learned Fourier features against the published algorithm, written out channel by channel."""

import math

import pytest
import torch

from posenc.encodings.fourier import LearnableFourierFeatures
from posenc.errors import ConfigError
from posenc.shapes import Shape


def by_hand(encoding: LearnableFourierFeatures, position: float) -> torch.Tensor:
    """Algorithm 1 of the paper for one group and one coordinate, in float64."""
    frequencies = encoding.frequencies.tolist()
    phases = [position * frequency for frequency in frequencies]
    features = [*map(math.cos, phases), *map(math.sin, phases)]
    r = torch.tensor(features, dtype=torch.float64) / math.sqrt(len(features))
    first, _, second = encoding.network
    hidden = first.weight.double() @ r + first.bias.double()
    active = torch.tensor([h * (1 + math.erf(h / math.sqrt(2))) / 2 for h in hidden.tolist()])
    return second.weight.double() @ active.double() + second.bias.double()


@pytest.mark.parametrize("width", [16, 5])
def test_equals_the_published_algorithm(width):
    encoding = LearnableFourierFeatures(Shape(width, 1, 1, causal=False), gamma=2.0)
    ids = torch.tensor([[0.0, 1.0, 17.5, 4000.0, 999_999.0]])
    added = encoding.embed(torch.zeros(1, 5, width), ids)[0]
    expected = torch.stack([by_hand(encoding, position) for position in ids[0].tolist()])
    torch.testing.assert_close(added.double(), expected, atol=1e-5, rtol=0)


def test_frequencies_start_with_a_spread_of_one_over_gamma():
    torch.manual_seed(0)
    for gamma in (1.0, 10.0):
        encoding = LearnableFourierFeatures(Shape(4096, 1, 1, causal=False), gamma=gamma)
        assert encoding.frequencies.std().item() == pytest.approx(1 / gamma, rel=0.05)


def test_frequencies_are_learned():
    encoding = LearnableFourierFeatures(Shape(16, 1, 1, causal=False))
    encoding.embed(torch.zeros(1, 5, 16), torch.arange(5)[None]).square().sum().backward()
    assert encoding.frequencies.grad.abs().min() > 0


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_gamma_that_is_not_positive(gamma):
    with pytest.raises(ConfigError, match=rf"encoding\.gamma={gamma}: "):
        LearnableFourierFeatures(Shape(16, 1, 1, causal=False), gamma=gamma)
