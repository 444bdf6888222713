"""The dynamic position bias: every pair by hand, and the whole against x-transformers."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.dynamic_bias import DynamicPositionBias
from posenc.shapes import Shape

FORMS = pytest.mark.parametrize("log_distance", [False, True])


@FORMS
@pytest.mark.parametrize("causal", [False, True])
def test_every_pair_by_the_formula(causal, log_distance):
    encoding = DynamicPositionBias(Shape(12, 3, 2, causal=causal), log_distance=log_distance)
    first, _, second, _, last = encoding.double().f

    def logit(head, q, k, i, j):
        x = i - j
        if log_distance:
            x = math.copysign(math.log(1 + abs(x)), x)
        units = first.weight[:, 0] * x + first.bias
        units = second.weight @ (units * units.sigmoid()) + second.bias
        return q @ k / 2 + last.weight[head] @ (units * units.sigmoid())

    by_pairs.check(encoding, logit)


@FORMS
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_x_transformers(log_distance):
    from x_transformers.x_transformers import DynamicPositionBias as Reference

    encoding = DynamicPositionBias(Shape(64, 4, 2, causal=False), log_distance=log_distance)
    reference = Reference(16, heads=4, depth=2, log_distance=log_distance)
    ours, theirs = encoding.state_dict(), reference.state_dict()
    *same, last_bias = theirs
    assert [theirs[key].shape for key in same] == [value.shape for value in ours.values()]
    reference.load_state_dict(
        {
            **dict(zip(same, ours.values(), strict=True)),
            last_bias: torch.zeros_like(theirs[last_bias]),
        }
    )
    ids = torch.arange(40)[None]
    expected = reference(17, 40)[None]
    given = encoding.bias(encoding.prepare(ids[:, -17:], ids))
    torch.testing.assert_close(given, expected, atol=1e-5, rtol=1e-5)


@FORMS
def test_tells_left_from_right(log_distance):
    encoding = DynamicPositionBias(Shape(64, 4, 2, causal=False), log_distance=log_distance)
    behind, ahead = encoding.prepare(torch.tensor([[5]]), torch.tensor([[2, 8]])).unbind(-1)
    assert (behind - ahead).abs().max() > 1e-3


def test_the_narrowest_model_has_one_unit_a_layer():
    assert DynamicPositionBias(Shape(3, 1, 1, causal=False)).f[0].out_features == 1
