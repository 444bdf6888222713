"""Every key of a configuration is known, typed and possible, or is refused by its name."""

import copy
from dataclasses import asdict
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

import posenc.cli  # noqa: F401  configs/train.yaml needs the resolver that it registers
from posenc.choosing import CONFIGS, LARGEST_SETTING, STARTING
from posenc.errors import ConfigError
from posenc.schema import RANGES, load

with initialize_config_dir(str(CONFIGS), version_base="1.3"):
    COMPOSED = compose("train", ["positions=random", "task=copy"])
PLAIN: Any = OmegaConf.to_container(COMPOSED, resolve=True)
HOW = {group: PLAIN.pop(group) for group in STARTING}


def keys(node: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """All dotted keys with their values, also those of inner nodes."""
    found = {}
    for key, value in node.items():
        found[f"{prefix}{key}"] = value
        if isinstance(value, dict):
            found |= keys(value, f"{prefix}{key}.")
    return found


NODES = [key for key, value in keys(PLAIN).items() if isinstance(value, dict)]
LEAVES = {key: value for key, value in keys(PLAIN).items() if key not in NODES}
REAL = [key for key, value in LEAVES.items() if isinstance(value, float)]


def changed(key: str, value: Any) -> DictConfig:
    """The composed configuration with another value at a dotted key."""
    settings = OmegaConf.create(copy.deepcopy(PLAIN))
    OmegaConf.update(settings, key, value, merge=False, force_add=True)
    return settings


def refusal(settings: DictConfig) -> str:
    """The one line with which these settings are refused."""
    with pytest.raises(ConfigError) as refused:
        load(settings)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_is_composed_is_what_is_loaded():
    assert asdict(load(COMPOSED)) == PLAIN


@pytest.mark.parametrize("key", ["sede", *(f"{node}.sede" for node in NODES)])
def test_unknown_key_is_refused_at_every_level(key: str):
    assert refusal(changed(key, 1)).startswith(f"{key}: no such key; ")


@pytest.mark.parametrize("group", STARTING)
def test_how_runs_are_started_is_no_setting_but_is_checked(group: str):
    def given(**own: Any) -> DictConfig:
        return OmegaConf.create(copy.deepcopy(PLAIN) | {group: HOW[group] | own})

    assert asdict(load(given())) == PLAIN
    assert refusal(given(foo=1)).startswith(f"{group}.foo: no such key; ")
    assert refusal(given(name="foo")).startswith(
        (f"{group}=foo: choose one of ", f"{group}=foo: python ")
    )


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", None, True])
def test_a_launcher_counts_in_whole_numbers(value: object):
    for key in ("jobs", "cores"):
        settings = copy.deepcopy(PLAIN) | {"launcher": HOW["launcher"] | {key: value}}
        assert refusal(settings).startswith(f"launcher.{key}={value}: must be ")


def test_automatic_threads_are_the_cores_of_a_run():
    launcher = HOW["launcher"] | {"cores": 3}
    settings = copy.deepcopy(PLAIN) | {"launcher": launcher, "threads": "auto"}
    assert load(settings).threads == 3
    assert refusal(settings | {"threads": "many"}).startswith("threads=many: ")


@pytest.mark.parametrize("node", ["model", "encoding"])
def test_of_several_unknown_keys_the_first_is_named(node: str):
    settings = changed(f"{node}.sede", 1)
    for key in ("a", "b", "c", "d", "e"):
        OmegaConf.update(settings, f"{node}.{key}", 1, force_add=True)
    assert refusal(settings).startswith(f"{node}.sede: no such key; ")


@pytest.mark.parametrize("key", [*NODES, *LEAVES])
def test_missing_key_is_refused(key: str):
    settings = OmegaConf.create(copy.deepcopy(PLAIN))
    parent, _, last = key.rpartition(".")
    del (OmegaConf.select(settings, parent) if parent else settings)[last]
    chosen = key.removesuffix(".name")
    assert refusal(settings).startswith((f"{key} is missing", f"{key}=None: ", f"{chosen}=None: "))


@pytest.mark.parametrize("key", LEAVES)
def test_wrong_type_is_refused_by_key_and_value(key: str):
    wrong = [1] if isinstance(LEAVES[key], str) else "abc"
    chosen = key.removesuffix(".name")
    assert refusal(changed(key, wrong)).startswith((f"{key}={wrong}: ", f"{chosen}={wrong}: "))


@pytest.mark.parametrize("node", NODES)
def test_scalar_in_place_of_a_group_is_refused(node: str):
    assert refusal(changed(node, 5)).startswith(f"{node}=5: ")


IMPOSSIBLE = {
    "seed": -1, "length.min": 0, "length.train": 4, "length.test": 19, "data.batch_size": 0,
    "data.workers": -1, "threads": 0, "checkpoint.every": 0, "model.width": 63, "model.heads": 0,
    "model.layers": 0, "model.dropout": 1.0, "model.causal": True, "model.name": "decoder",
    "optimizer.lr": 0.0, "optimizer.weight_decay": -0.1, "optimizer.warmup": 1.5,
    "optimizer.betas": [0.9], "trainer.max_steps": 0, "trainer.gradient_clip_val": -1.0,
    "trainer.accumulate_grad_batches": 0, "trainer.accelerator": "tpu", "trainer.precision": "8",
    "trainer.log_every_n_steps": 0, "eval.samples": 0, "eval.lengths": [101], "eval.seed": -1,
    "eval.probe_every": 0, "eval.probe_lengths": [0], "eval.probe_samples": 0, "logger.name": "tb",
    "encoding._target_": "os.system", "task.name": "reverse", "outputs": " ",
}  # fmt: skip


@pytest.mark.parametrize("key", IMPOSSIBLE)
def test_impossible_value_is_refused_by_key_and_value(key: str):
    value = IMPOSSIBLE[key]
    line = refusal(changed(key, value))
    assert key.removesuffix(".name").split(".")[0] in line
    assert str(value[0] if isinstance(value, list) else value) in line


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("key", REAL)
def test_real_number_must_be_finite(key: str, value: float):
    assert refusal(changed(key, value)).startswith(f"{key}={value}: ")


@pytest.mark.parametrize("key", [*RANGES, "positions.span", "task.symbols"])
def test_number_past_its_range_is_refused_and_the_last_one_is_not(key: str):
    most, kind = RANGES.get(key, (1, LARGEST_SETTING))[1], type(LEAVES[key])
    for value in (most + 1, 10**250):
        assert refusal(changed(key, value)).startswith(f"{key}={kind(value)}: must be ")
        assert refusal(changed(key, value)).endswith(f" {most}")
    if key not in ("length.min", "length.train", "model.heads"):  # others hold these down
        load(changed(key, most))


@pytest.mark.parametrize("key", REAL)
def test_real_number_must_fit_into_one(key: str):
    assert refusal(changed(key, 10**400)).startswith(f"{key}={10**400}: must be of type float")


def test_learning_rate_has_no_upper_limit():
    assert load(changed("optimizer.lr", 1e30)).optimizer.lr == 1e30


@pytest.mark.parametrize("key", REAL)
def test_whole_number_may_be_written_for_a_real_one(key: str):
    whole = 1 if key != "model.dropout" else 0
    assert load(changed(key, whole)) == load(changed(key, float(whole)))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sede", "seed"), ("lengths", "length"), ("encodings", "encoding"), ("thread", "threads")],
)
def test_resembling_key_is_suggested(typed: str, meant: str):
    assert refusal(changed(typed, 1)) == f"{typed}: no such key; did you mean '{meant}'?"
