"""What every source in configs/positions owes the rest, found by listing the folder."""

import importlib
import inspect
from pathlib import Path

import pytest
import torch
import yaml
from sequences import sequences

from posenc.errors import ConfigError
from posenc.positions.base import Positions

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (Path(__file__).parents[2] / "configs" / "positions").glob("*.yaml")
}
ROWS = 6
LENGTHS = [1, 2, 3, 20, 100]
REPEATING = ["abacus", "task"]


def class_of(name: str) -> type[Positions]:
    module, _, cls = CONFIGS[name]["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), cls)


def variants():
    """(name, settings): every source as its yaml has it, and with each other policy it knows."""
    for name, config in CONFIGS.items():
        yield name, {}
        for policy in ("resample", "even", "index"):
            if policy != config.get("at_eval", policy):
                try:
                    class_of(name)(at_eval=policy)
                except ConfigError:
                    continue
                yield name, {"at_eval": policy}


@pytest.fixture(params=CONFIGS)
def name(request):
    return request.param


@pytest.fixture(params=variants(), ids=lambda variant: "-".join([variant[0], *variant[1].values()]))
def positions(request):
    name, settings = request.param
    return class_of(name)(**settings)


@pytest.fixture(params=["train", "evaluate"])
def use(request):
    return request.param


@pytest.fixture
def bound(positions, use):
    """length -> the bound of ids in training or in evaluation."""
    method = positions.bound if use == "train" else positions.bound_at_eval
    return lambda length: method(sequences(ROWS, length))


@pytest.fixture
def draw(positions, use):
    """(length, seed) -> ids of ROWS rows, in training or in evaluation."""
    method = getattr(positions, use)

    def drawn(length, seed=0):
        return method(sequences(ROWS, length), torch.Generator().manual_seed(seed))

    return drawn


def test_yaml_states_every_setting_with_its_default(name):
    settings = inspect.signature(class_of(name)).parameters.values()
    assert all(setting.kind is setting.KEYWORD_ONLY for setting in settings)
    assert CONFIGS[name] == {
        "name": name,
        "_target_": f"posenc.positions.{name}.{class_of(name).__name__}",
        **{setting.name: setting.default for setting in settings},
    }


def test_one_idea_one_file_one_class(name):
    module = inspect.getmodule(class_of(name))
    classes = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Positions) and cls.__module__ == module.__name__
    ]
    assert classes == [class_of(name)]
    assert len(inspect.getsource(module).splitlines()) <= 80
    assert module.__doc__


@pytest.mark.parametrize("length", LENGTHS)
def test_ids_fit_the_sequence_and_the_bound(positions, draw, bound, length):
    for seed in range(5):
        ids = draw(length, seed)
        assert ids.dtype == (torch.float64 if positions.real else torch.int64)
        assert ids.shape in [(1, length), (ROWS, length)]
        assert 0 <= ids.min() <= ids.max() < bound(length)


def test_the_generator_decides_and_nothing_else(draw):
    before = torch.get_rng_state()
    first = draw(20)
    torch.rand(3)
    assert torch.equal(draw(20), first)
    torch.set_rng_state(before)
    draw(20)
    assert torch.equal(torch.get_rng_state(), before)


def test_tokens_of_a_row_can_be_told_apart(positions, draw):
    if type(positions).__module__.rpartition(".")[2] in REPEATING:
        pytest.skip("tokens that belong together share an id")
    assert all(len(row.unique()) == 20 for row in draw(20))


def test_averages_over_at_least_one_draw(positions):
    assert positions.draws >= 1
