"""What decays, and how the rate rises and falls."""

import math

import pytest
import torch
from torch import nn

from posenc.training.optimizer import adamw

SETTINGS = {"betas": (0.9, 0.999), "weight_decay": 0.1}


def rates(steps, **settings):
    """The learning rate of every step, from the first to one past the last."""
    weight = nn.Linear(1, 1)
    optimizer, schedule = adamw(weight, max_steps=steps, **{**SETTINGS, **settings})
    found = []
    for _ in range(steps + 1):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def test_only_weights_of_linear_maps_decay(encoding_name, model_name, built):
    net = built(f"encoding={encoding_name}", f"model={model_name}").net
    optimizer, _ = adamw(net, lr=1e-3, warmup=0.05, max_steps=100, **SETTINGS)
    decayed, others = optimizer.param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    names = {parameter: name for name, parameter in net.named_parameters()}
    assert sorted(names[p] for g in optimizer.param_groups for p in g["params"]) == sorted(
        names.values()
    )
    decayed_names = {names[parameter] for parameter in decayed["params"]}
    linear = ("to_queries", "to_keys_values", "merge", "mlp.0", "mlp.2", "unembedding")
    trunk = {name for name in names.values() if not name.startswith("encodings.")}
    assert decayed_names & trunk == {
        n for n in trunk if n.endswith(tuple(f"{x}.weight" for x in linear))
    }
    assert "embedding.weight" not in decayed_names


def test_decay_shrinks_a_weight_that_no_gradient_moves():
    layer = nn.Linear(1, 1)
    nn.init.ones_(layer.weight)
    nn.init.ones_(layer.bias)
    optimizer, _ = adamw(layer, lr=0.5, warmup=0.0, max_steps=10, **SETTINGS)
    layer.weight.grad, layer.bias.grad = torch.zeros(1, 1), torch.zeros(1)
    optimizer.step()
    assert layer.weight.item() == pytest.approx(1 - 0.5 * 0.1)
    assert layer.bias.item() == 1


def test_the_default_schedule_by_hand():
    found = rates(2000, lr=1e-3, warmup=0.05)  # 100 steps up, 1900 down
    by_hand = {0: 1e-5, 49: 5e-4, 99: 1e-3, 100: 1e-3, 575: 1e-3 * (2 + 2**0.5) / 4, 1050: 5e-4}
    for step, rate in by_hand.items():
        assert found[step] == pytest.approx(rate), step
    assert found[2000] == pytest.approx(0, abs=1e-12)
    assert max(found) == pytest.approx(1e-3)


@pytest.mark.parametrize(("warmup", "first"), [(0.0, 1.0), (1.0, 1 / 20), (0.5, 1 / 10)])
def test_shares_of_warmup(warmup, first):
    found = rates(20, lr=1.0, warmup=warmup)
    assert found[0] == pytest.approx(first)
    assert max(found) == pytest.approx(1.0)
    peak = found.index(max(found))
    assert found[: peak + 1] == sorted(found[: peak + 1])
    assert found[peak:] == sorted(found[peak:], reverse=True)


def test_a_single_step_has_a_rate():
    assert rates(1, lr=1.0, warmup=0.05)[0] == 1.0
    assert all(map(math.isfinite, rates(1, lr=1.0, warmup=1.0)))
