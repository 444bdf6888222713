"""ALiBi's slopes and biases, by hand and against another implementation."""

import pytest
import torch

from posenc.encodings.alibi import ALiBi, slopes_of
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
