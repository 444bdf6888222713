"""Shaw's relative keys: every pair by hand, and what training starts from."""

import by_pairs
import pytest
import torch

from posenc.encodings.shaw import Shaw
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
def test_every_pair_by_the_formula(causal):
    encoding = Shaw(Shape(12, 3, 2, causal=causal), clip=4).double()

    def logit(head, q, k, i, j):
        return q @ (k + encoding.table[head, max(-4, min(4, j - i)) + 4]) / 4**0.5

    by_pairs.check(encoding, logit)


def test_starts_with_vectors_of_length_about_one():
    torch.manual_seed(0)
    table = Shaw(Shape(64, 4, 1, causal=False)).table
    assert table.shape == (4, 33, 16)
    assert table.norm(dim=-1).mean().item() == pytest.approx(1, rel=0.05)


def test_only_distances_that_occur_are_trained():
    encoding = Shaw(Shape(4, 1, 1, causal=True), clip=3)
    q, k = torch.randn(2, 1, 1, 3, 4)
    by_pairs.weights(encoding, q, k, torch.tensor([[0, 1, 90]])).square().sum().backward()
    trained = encoding.table.grad[0].abs().sum(-1) > 0
    assert trained.tolist() == [True, False, True, True, False, False, False]


@pytest.mark.parametrize("clip", [0, -1])
def test_refuses_a_clip_that_tells_no_side(clip):
    with pytest.raises(ConfigError, match=rf"encoding\.clip={clip}: must be at least 1"):
        Shaw(Shape(4, 1, 1, causal=True), clip=clip)
