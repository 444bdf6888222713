"""ALiBi's slopes and biases, and its two variants, by hand and against other implementations."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.alibi import ALiBi, slopes_of
from posenc.encodings.alibi_asymmetric import AsymmetricALiBi
from posenc.encodings.alibi_learned import LearnedALiBi
from posenc.shapes import Shape

BY_HAND = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [0.0625, 0.00390625, 0.25],
    6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
    8: [2**-power for power in range(1, 9)],
    12: [2**-power for power in range(1, 9)] + [0.707107, 0.353553, 0.176777, 0.088388],
}


def bias(heads: int, causal: bool, query_ids: torch.Tensor, key_ids: torch.Tensor) -> torch.Tensor:
    encoding = ALiBi(Shape(2 * heads, heads, 1, causal=causal))
    return encoding.bias(encoding.prepare(query_ids, key_ids))


@pytest.mark.parametrize("heads", BY_HAND)
def test_slopes_by_hand(heads):
    assert slopes_of(heads) == pytest.approx(BY_HAND[heads], abs=1e-6)


def test_bias_by_hand():
    expected = [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]]
    for causal in (False, True):
        ids = torch.arange(3)[None]
        assert (bias(2, causal, ids, ids)[0, 0] * 16).tolist() == expected


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("heads", range(1, 21))
def test_equals_x_transformers(heads):
    from x_transformers.x_transformers import AlibiPositionalBias

    reference = AlibiPositionalBias(heads)
    ids = torch.arange(40)[None]
    torch.testing.assert_close(bias(heads, False, ids, ids), reference(40, 40)[None])
    gaps = torch.tensor([[0, 3, 4, 90], [7, 8, 300, 1000]])
    expected = reference.forward_custom_pos(gaps[:, -2:].float(), gaps.float())
    torch.testing.assert_close(bias(heads, True, gaps[:, -2:], gaps), expected)


def test_bloom_has_the_same_slopes():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for heads in (4, 7, 16, 24):
        bloom = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)
        torch.testing.assert_close(torch.tensor(slopes_of(heads)), bloom[:, 0, 1])


def test_bloom_attends_alike_in_a_decoder():
    """Its bias, slope * j, is another number and the same softmax."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    bloom = build_alibi_tensor(torch.ones(1, 9), 6, torch.float32).view(1, 6, 1, 9)
    ids, ahead = torch.arange(9)[None], torch.ones(9, 9).triu(1).bool()
    ours, theirs = (
        each.masked_fill(ahead, -torch.inf).softmax(-1) for each in (bias(6, True, ids, ids), bloom)
    )
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("causal", [False, True])
def test_asymmetric_every_pair_by_the_formula(causal):
    def logit(head, q, k, i, j):
        return q @ k / 2 - slopes_of(3)[head] * (i - j - 0.5 if j < i else j - i)

    by_pairs.check(AsymmetricALiBi(Shape(12, 3, 2, causal=causal)), logit)


def test_asymmetric_by_hand():
    """The matrix of the published code for three tokens, times the slope 1/16."""
    encoding = AsymmetricALiBi(Shape(4, 2, 1, causal=False))
    ids = torch.arange(3)[None]
    expected = [[0, -1, -2], [-0.5, 0, -1], [-1.5, -0.5, 0]]
    assert (encoding.bias(encoding.prepare(ids, ids))[0, 0] * 16).tolist() == expected


@pytest.mark.parametrize("causal", [False, True])
def test_learned_every_pair_by_the_formula(causal):
    encoding = LearnedALiBi(Shape(12, 3, 2, causal=causal)).double()
    learned = [math.log(slope) for slope in (0.25, 2.0, 0.001)]
    encoding.log_slopes.data = torch.tensor(learned, dtype=torch.float64)

    def logit(head, q, k, i, j):
        return q @ k / 2 - math.exp(learned[head]) * abs(i - j)

    by_pairs.check(encoding, logit)


@pytest.mark.parametrize("heads", [1, 6, 8])
def test_learned_starts_as_alibi_and_never_rewards_distance(heads):
    encoding = LearnedALiBi(Shape(2 * heads, heads, 1, causal=False))
    ids = torch.arange(12)[None]
    torch.testing.assert_close(
        encoding.bias(encoding.prepare(ids, ids)), bias(heads, False, ids, ids)
    )
    optimizer = torch.optim.SGD(encoding.parameters(), lr=1.0)
    for _ in range(50):
        penalty = -encoding.bias(encoding.prepare(ids, ids)).sum()
        penalty.backward()
        optimizer.step()
        optimizer.zero_grad()
    assert 0 < penalty < float("inf")
