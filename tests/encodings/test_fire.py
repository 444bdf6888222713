"""FIRE: every pair by the formula, on both sides of the threshold, and its edges."""

import math

import by_pairs
import pytest
import torch

from posenc.encodings.fire import FIRE
from posenc.errors import ConfigError
from posenc.shapes import Shape


def bias(encoding: FIRE, query_ids: torch.Tensor, key_ids: torch.Tensor) -> torch.Tensor:
    return encoding.bias(encoding.prepare(query_ids, key_ids))


def by_hand(encoding: FIRE, i: float, j: float) -> list[float]:
    """The published formula, one unit of f at a time, with a threshold for `max(L, i)`."""
    c, m = abs(encoding.c.item()), abs(encoding.m.item())
    reach = max(m * encoding.threshold, i)
    share = math.log(c * abs(i - j) + 1) / (math.log(c * reach + 1) + 1e-6)
    inner, _, outer = encoding.f
    units = [
        max(0.0, weight * share + offset)
        for weight, offset in zip(inner.weight[:, 0].tolist(), inner.bias.tolist(), strict=True)
    ]
    return [
        math.fsum(map(math.prod, zip(units, row, strict=True))) for row in outer.weight.tolist()
    ]


@pytest.mark.parametrize("threshold", [None, 20, 3.5])
@pytest.mark.parametrize("causal", [False, True])
def test_every_pair_by_the_formula(causal, threshold):
    encoding = FIRE(Shape(12, 3, 2, causal=causal), threshold=threshold).double()
    with torch.no_grad():
        encoding.m.fill_(-0.9)
        encoding.c.fill_(-0.3)

    def logit(head, q, k, i, j):
        return q @ k / 2 + by_hand(encoding, i, j)[head]

    by_pairs.check(encoding, logit)


def test_starts_as_published():
    encoding = FIRE(Shape(12, 3, 2, causal=True))
    assert encoding.threshold == 512
    assert encoding.c.item() == pytest.approx(0.1)
    assert encoding.m.item() == 1
    assert [*map(str, encoding.f)] == [
        "Linear(in_features=1, out_features=32, bias=True)",
        "ReLU(inplace=True)",
        "Linear(in_features=32, out_features=3, bias=False)",
    ]


def test_ids_are_squeezed_once_they_pass_the_threshold():
    encoding = FIRE(Shape(12, 3, 2, causal=True), threshold=30)
    near, far = torch.tensor([[20]]), torch.tensor([[29]])
    torch.testing.assert_close(bias(encoding, near, near - 9), bias(encoding, far, far - 9))
    beyond = torch.tensor([[300]])
    changed = bias(encoding, beyond, beyond - 9) - bias(encoding, far, far - 9)
    assert changed.abs().max() > 1e-3
    whole = bias(encoding, torch.tensor([[30]]), torch.tensor([[0]]))
    torch.testing.assert_close(bias(encoding, beyond, beyond - 300), whole, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("m", [0.0, 1e-30, -1.0])
@pytest.mark.parametrize("c", [0.0, 1e-30, -0.1, 1e6])
@pytest.mark.parametrize("tokens", [1, 2, 9])
def test_the_first_query_never_divides_by_nothing(tokens, c, m):
    encoding = FIRE(Shape(12, 3, 2, causal=False))
    with torch.no_grad():
        encoding.c.fill_(c)
        encoding.m.fill_(m)
    ids = torch.arange(tokens)[None]
    given = bias(encoding, ids, ids)
    given.sum().backward()
    assert given.isfinite().all()
    assert given.abs().max() < 100
    assert all(parameter.grad.isfinite().all() for parameter in encoding.parameters())


def test_every_layer_has_its_own(built):
    encodings = built("encoding=fire", "model.layers=3").net.encodings
    assert len({id(parameter) for parameter in encodings.parameters()}) == 3 * 5


@pytest.mark.parametrize("threshold", [0, -3, 0.5, math.nan, math.inf, True, "20", [20]])
def test_refuses_what_is_no_length(threshold):
    with pytest.raises(
        ConfigError, match=r"encoding\.threshold=.*: must be a number, at least 1, or null"
    ):
        FIRE(Shape(12, 3, 2, causal=True), threshold=threshold)
