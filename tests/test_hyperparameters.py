"""The columns that tell runs apart, and their types."""

from collections.abc import Callable
from dataclasses import asdict

import pytest

from posenc.hyperparameters import hyperparameters
from posenc.schema import Config

Columns = Callable[..., dict[str, bool | float | str]]

COMMON = {
    "task": "who_bit_whom",
    "model": "encoder",
    "encoding": "sinusoidal",
    "positions": "index",
    "seed": 0.0,
}


@pytest.fixture
def columns(configured: Callable[..., Config]) -> Columns:
    return lambda *overrides: hyperparameters(asdict(configured(*overrides)), overrides)


def test_every_run_says_which_it_is(columns: Columns) -> None:
    assert columns() == COMMON
    own = columns("encoding=rope", "seed=3", "task=copy", "model=decoder", "positions=random")
    assert list(own.values()) == ["copy", "decoder", "rope", "random", 3.0]


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("optimizer.lr=0.01", 0.01),
        ("model.width=128", 128.0),
        ("data.curriculum=growing", "growing"),
        ("model.causal=false", False),
        ("trainer.gradient_clip_val=1", "1"),  # null in other runs
        ("trainer.gradient_clip_val=null", "null"),
        ("optimizer.betas=[0.9,0.99]", "[0.9,0.99]"),
        ("+optimizer.lr=0.01", 0.01),
    ],
)
def test_a_key_of_the_command_line_is_a_column_of_one_type(
    override: str, value: object, configured: Callable[..., Config]
) -> None:
    settings = asdict(configured(override.lstrip("+")))
    key = override.lstrip("+").partition("=")[0]
    own = hyperparameters(settings, [override])
    assert own == COMMON | {key: value}
    assert type(own[key]) is type(value)


@pytest.mark.parametrize(
    ("encoding", "key", "value"),
    [
        ("fire", "encoding.threshold=50", "50"),  # null in others
        ("rope", "encoding.base=500.0", "500.0"),  # the name of an encoding in dape
        ("dynamic_bias", "encoding.log_distance=false", False),
        ("t5", "encoding.buckets=8", 8.0),
        ("combined", "encoding.parts=[learned,rope]", "[learned,rope]"),
    ],
)
def test_a_key_of_a_class_has_the_type_that_it_has_in_all_classes(
    encoding: str, key: str, value: object, columns: Columns
) -> None:
    own = columns(f"encoding={encoding}", key)
    assert own[key.partition("=")[0]] == value
    assert type(own[key.partition("=")[0]]) is type(value)


def test_what_makes_no_other_run_is_no_column(columns: Columns) -> None:
    assert columns("logger=none", "outputs=elsewhere", "checkpoint.every=7", "threads=2") == COMMON
    assert columns("length.test=200", "eval.samples=64", "eval.lengths=[5,10]") == COMMON
