"""Both forms of KERPLE: every pair by the formula, where parameters start, where they can go."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.kerple_log import KERPLELog
from posenc.encodings.kerple_power import KERPLEPower
from posenc.shapes import Shape

BOTH = pytest.mark.parametrize("cls", [KERPLELog, KERPLEPower])


def parameters(encoding) -> tuple[torch.Tensor, torch.Tensor]:
    """(H,) r1 and r2, read off the bias at distances 1 and 3."""
    ids = torch.tensor([[0, 1, 3]])
    _, at_1, at_3 = encoding.bias(encoding.prepare(ids[:, :1], ids)).double()[0, :, 0].T
    if isinstance(encoding, KERPLEPower):
        return -at_1, (at_3 / at_1).log() / math.log(3)
    low, high = torch.full_like(at_1, 1e-4), torch.full_like(at_1, 50.0)
    for _ in range(60):  # log(1 + 3 r2) / log(1 + r2) falls steadily from 3 to 1
        middle = (low + high) / 2
        small = (3 * middle).log1p() / middle.log1p() > at_3 / at_1
        low, high = torch.where(small, middle, low), torch.where(small, high, middle)
    return -at_1 / low.log1p(), low


@pytest.mark.parametrize("causal", [False, True])
@BOTH
def test_every_pair_by_the_formula(cls, causal):
    encoding = cls(Shape(12, 3, 2, causal=causal)).double()
    r1 = 0.01 + encoding.raw_r1.exp().log1p()
    if cls is KERPLELog:
        r2 = 0.01 + encoding.raw_r2.exp().log1p()
    else:
        r2 = 0.01 + 1.99 / (1 + (-encoding.raw_r2).exp())

    def logit(head, q, k, i, j):
        distance = abs(i - j)
        grown = (1 + r2[head] * distance).log() if cls is KERPLELog else distance ** r2[head]
        return q @ k / 2 - r1[head] * grown

    by_pairs.check(encoding, logit)


def test_bias_by_hand():
    ids = torch.tensor([[0, 1, 4, 9]])
    shape = Shape(2, 1, 1, causal=True)
    power = KERPLEPower(shape)
    log = KERPLELog(shape)
    with torch.no_grad():
        power.raw_r1.copy_(torch.tensor(0.49).expm1().log())
        power.raw_r2.copy_(torch.tensor(0.49 / 1.99).logit())
        log.raw_r1.copy_(torch.tensor(1.99).expm1().log())
        log.raw_r2.copy_(torch.tensor(0.99).expm1().log())
    by_power = power.bias(power.prepare(ids[:, :1], ids))[0, 0, 0]
    torch.testing.assert_close(by_power, torch.tensor([0, -0.5, -1.0, -1.5]))
    by_log = log.bias(log.prepare(ids[:, :1], ids))[0, 0, 0]
    torch.testing.assert_close(by_log, -2 * torch.tensor([0, 0.693147, 1.609438, 2.302585]))


@pytest.mark.parametrize(("cls", "highest"), [(KERPLELog, (2, 1)), (KERPLEPower, (1, 2))])
def test_starts_uniform_as_in_the_published_code(cls, highest):
    torch.manual_seed(0)
    heads = 4096
    drawn = parameters(cls(Shape(heads, heads, 1, causal=True)))
    for values, top in zip(drawn, highest, strict=True):
        evenly = top * (torch.arange(heads) + 0.5) / heads
        assert (values.sort().values - evenly).abs().max() < 0.03 * top
        assert 0.01 < values.min() < values.max() < top


@pytest.mark.parametrize("raw", [-300.0, -50.0, -0.6, 0.0, 50.0, 300.0])
@BOTH
def test_wherever_training_goes_the_bias_stays_a_finite_penalty(cls, raw):
    encoding = cls(Shape(8, 4, 1, causal=False))
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.fill_(raw)
    bias = encoding.bias(encoding.prepare(torch.zeros(1, 1).long(), torch.arange(200)[None]))
    assert bias.isfinite().all()
    assert (bias[..., 0] == 0).all()
    assert (bias[..., 1:] < 0).all()
    assert (bias.diff() <= 0).all()
    if cls is KERPLEPower:
        assert (bias[..., 2] >= 4 * bias[..., 1] * 1.000001).all(), "an exponent above 2"


@BOTH
def test_steps_that_are_far_too_long_leave_gradients_alive(cls):
    """A naive r1 turns negative here, and r2 makes NaN from a distance of 2."""
    encoding = cls(Shape(8, 4, 1, causal=True))
    optimizer = torch.optim.AdamW(encoding.parameters(), lr=1.0)
    ids = torch.arange(4)[None]
    for _ in range(50):
        bias = encoding.bias(encoding.prepare(ids, ids))
        (-bias.sum()).backward()  # asks for no penalty at all
        assert all(0 < each.grad.abs().min() < math.inf for each in encoding.parameters())
        optimizer.step()
        optimizer.zero_grad()
    assert bias.isfinite().all()
    assert (bias[..., 1, 0] < 0).all()
