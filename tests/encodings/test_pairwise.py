"""What every bias of two ids keeps apart: low precision, real ids, rows of a batch."""

import copy

import pytest
import torch

from posenc.encodings.alibi import ALiBi
from posenc.encodings.alibi_asymmetric import AsymmetricALiBi
from posenc.encodings.alibi_learned import LearnedALiBi
from posenc.encodings.dynamic_bias import DynamicPositionBias
from posenc.encodings.fire import FIRE
from posenc.encodings.kerple_log import KERPLELog
from posenc.encodings.kerple_power import KERPLEPower
from posenc.encodings.sandwich import Sandwich
from posenc.encodings.t5 import T5
from posenc.shapes import Shape

SHAPE = Shape(16, 4, 2, causal=False)
FORMULAS = [ALiBi, AsymmetricALiBi, LearnedALiBi, KERPLELog, KERPLEPower, Sandwich, FIRE]
ALL = pytest.mark.parametrize("cls", [*FORMULAS, DynamicPositionBias, T5])


@ALL
def test_mixed_precision_leaves_the_formula_alone(cls):
    encoding, ids = cls(SHAPE), torch.arange(300)[None]
    expected = encoding.prepare(ids, ids)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(encoding.prepare(ids, ids), expected)


@pytest.mark.parametrize("cls", FORMULAS)
def test_low_precision_does_not_round_ids(cls):
    """bfloat16 has no 257; the distance from there to 300 is as exact as any other."""
    encoding = cls(SHAPE)
    exact = copy.deepcopy(encoding).float()
    ids = torch.tensor([[257, 300]])
    rounded = encoding.bfloat16().prepare(ids, ids).float()
    torch.testing.assert_close(rounded, exact.prepare(ids, ids), rtol=0.02, atol=0.02)


@ALL
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_real_ids(cls, dtype):
    encoding = cls(SHAPE)
    whole = torch.tensor([[3, 17, 200], [0, 5, 9]])
    bias = encoding.prepare(whole, whole)
    real = encoding.prepare(whole.to(dtype), whole.to(dtype))
    assert real.dtype == torch.float32
    torch.testing.assert_close(real, bias, rtol=0, atol=0)
    between = encoding.prepare(whole.to(dtype), whole.to(dtype) + 0.5)
    assert between.isfinite().all()
    assert cls is T5 or (between != bias).any()
