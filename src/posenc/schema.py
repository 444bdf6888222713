"""A configuration is read here: unknown keys, wrong types and impossible numbers go no further.

Nothing in this file imports torch, so a mistake on the command line costs no waiting.
"""

import math
import sys
from dataclasses import is_dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException, ValidationError

from posenc.errors import ConfigError, check_choice, one_of, suggestion
from posenc.problem_files import pinned
from posenc.settings import Config
from posenc.shapes import Shape

PROJECT = Path(__file__).resolve().parents[2]
CONFIGS = PROJECT / "configs"
if not CONFIGS.is_dir():
    raise ImportError(f"{CONFIGS} is missing: posenc runs from its checkout, so install it with -e")
PLUGINS = ("task", "encoding", "positions")
"""Groups whose keys are those of the chosen yaml and name the settings of a class."""

RANGES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("seed", "eval.seed"), (0, 2**63 - 1)),
    **dict.fromkeys(("length.min", "length.train", "length.test"), (1, 2**20)),
    **dict.fromkeys(("data.batch_size", "eval.samples", "eval.probe_samples"), (1, 10**7)),
    "data.workers": (0, 1024), "threads": (1, 1024), "checkpoint.every": (1, 10**9),
    "model.width": (1, 2**16), "model.heads": (1, 2**16), "model.layers": (1, 2**12),
    "optimizer.weight_decay": (0, 10**9), "optimizer.warmup": (0, 1),
    "trainer.max_steps": (1, 10**9), "trainer.gradient_clip_val": (0, 10**9),
    "trainer.accumulate_grad_batches": (1, 10**9), "trainer.log_every_n_steps": (1, 10**9),
    "eval.probe_every": (1, 10**9),
}  # fmt: skip
"""Least and most. No upper end is in the way of an experiment: beyond them a library underneath
breaks, mostly with a message that names no key."""

LARGEST_SETTING = 2**24
"""The same for whole numbers in PLUGINS; PyTorch draws from no more ids."""

CHOICES: dict[str, tuple[str, ...]] = {
    "trainer.accelerator": ("cpu", "gpu"),
    "trainer.precision": ("32-true", "bf16-mixed"),
    "data.curriculum": ("uniform", "growing", "fixed"),
}


def load(raw: DictConfig | dict[str, Any]) -> Config:
    """Raises ConfigError unless every key is known, has its type and can work with the others."""
    try:
        plain = OmegaConf.to_container(OmegaConf.create(raw), resolve=True)
        assert isinstance(plain, dict)
        _refuse_unknown(Config, plain, "")
        for group in PLUGINS:
            _check_plugin(group, plain[group])
        _check_choice("logger", plain["logger"])
        plain["task"] = pinned(plain["task"])
        for part in plain["encoding"].get("parts", []):
            if part["positions"] == plain["positions"]:
                part["positions"] = None  # which is what it would have without naming them
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), plain))
    except ValidationError as error:
        key = str(error.full_key).partition("[")[0]
        value = reduce(getitem, key.split("."), cast(Any, plain))
        raise ConfigError(f"{key}={value}: {expected(key)}") from None
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from None
    assert isinstance(config, Config)
    _refuse_impossible(config)
    return config


def choices(group: str) -> list[str]:
    """The names that `group=` can take."""
    return sorted(file.stem for file in (CONFIGS / group).glob("*.yaml"))


def defaults_of(group: str, name: str) -> dict[str, Any]:
    """What the yaml of a choice says."""
    settings = OmegaConf.to_container(OmegaConf.load(CONFIGS / group / f"{name}.yaml"))
    assert isinstance(settings, dict)
    return {str(key): value for key, value in settings.items()}


def expected(key: str) -> str:
    """What the value of a key must be, or of the innermost known one that it lies in."""
    kind = cast(Any, Config)
    for part in key.split("."):
        kind = get_type_hints(kind).get(part, kind) if is_dataclass(kind) else kind
    if is_dataclass(kind):
        return f"the keys are {', '.join(get_type_hints(kind))}"
    if get_origin(kind) is dict:
        return f"must be of the kind that configs/{key.partition('.')[0]}/ shows"
    return f"must be of type {kind if get_args(kind) else kind.__name__}"


def _refuse_unknown(schema: Any, plain: Any, prefix: str) -> None:
    """Every dataclass field must be a key of `plain`, and the other way round."""
    fields = get_type_hints(schema)
    if not isinstance(plain, dict):
        key = prefix.removesuffix(".")
        raise ConfigError(f"{key}={plain}: {expected(key)}")
    for key in plain:
        if key not in fields:
            raise ConfigError(f"{prefix}{key}: no such key; {suggestion(str(key), fields)}")
    for key, kind in fields.items():
        if key not in plain:
            raise ConfigError(f"{prefix}{key} is missing: no key can be left out")
        if is_dataclass(kind):
            _refuse_unknown(kind, plain[key], f"{prefix}{key}.")
        elif get_origin(kind) is not dict and not _is_flat(plain[key]):
            raise ConfigError(f"{prefix}{key}={plain[key]}: {expected(prefix + key)}")


def _is_flat(value: Any) -> bool:
    """Whether it is one value or a list of them; OmegaConf takes deeper lists for lists, too."""
    return not any(
        isinstance(each, dict | list)
        or each == "???"  # stands for a missing value
        or (isinstance(each, int) and abs(each) > sys.float_info.max)
        for each in (value if isinstance(value, list) else [value])
    )


def _check_plugin(group: str, node: Any) -> None:
    """A chosen class is the one that its yaml names, and so are its keys; parts are encodings."""
    name, defaults = _chosen(group, node)
    if "_target_" not in defaults:
        raise ConfigError(f"{group}.name={name}: stands for other settings; set {group}={name}")
    target, known = node.get("_target_"), defaults["_target_"]
    if target != known:
        raise ConfigError(f"{group}._target_={target}: {name} is {known}; set {group}={name}")
    _check_choice(group, node)
    if "parts" in defaults:
        if not node["parts"]:
            raise ConfigError(f"{group}.parts=[]: name encodings, such as [learned,fire]")
        node["parts"] = [_part(part) for part in node["parts"]]


def _chosen(group: str, node: Any) -> tuple[str, dict[str, Any]]:
    """The name of a choice and what its yaml says."""
    name = str(node.get("name") if isinstance(node, dict) else node)
    if not isinstance(node, dict) or name not in choices(group):
        raise ConfigError(f"{group}={name}: {one_of(choices(group))}")
    return name, defaults_of(group, name)


def _check_choice(group: str, node: Any) -> None:
    """The keys of a choice are those of its yaml, and so are the types of their values."""
    _, defaults = _chosen(group, node)
    unknown = [str(key) for key in node if key not in defaults]
    if unknown:
        raise ConfigError(f"{group}.{unknown[0]}: no such key; {suggestion(unknown[0], defaults)}")
    for key, default in defaults.items():
        if node.get(key, "???") == "???":
            raise ConfigError(f"{group}.{key} is missing: no key can be left out")
        if not _same_kind(node[key], default):
            kind = type(default).__name__
            raise ConfigError(f"{group}.{key}={node[key]}: must be of type {kind}, as {default} is")
        if isinstance(node[key], int) and abs(node[key]) > LARGEST_SETTING:
            raise ConfigError(f"{group}.{key}={node[key]}: must be at most {LARGEST_SETTING}")
        if isinstance(default, float):
            node[key] = float(node[key])  # 10000 and 10000.0 are one configuration
        if default is None and isinstance(node[key], float) and node[key].is_integer():
            node[key] = int(node[key])  # and so are 20.0 and 20


def _part(given: Any) -> dict[str, Any]:
    """Name or settings of one encoding among several, completed: two spellings are one run."""
    part = {"name": given} if isinstance(given, str) else given
    if not isinstance(part, dict) or "name" not in part:
        raise ConfigError(f"encoding.parts: {given} is no encoding; name one, or {{name: ...}}")
    own = part.get("positions")
    if own is not None and not isinstance(own, dict):
        own = {"name": own}
    try:
        node = _completed("encoding", {key: part[key] for key in part if key != "positions"})
        positions = own and _completed("positions", own)
    except ConfigError as error:
        raise ConfigError(f"encoding.parts: {error}") from None
    if "parts" in node:
        raise ConfigError(f"encoding.parts: {node['name']} has parts itself; name all in one list")
    return node | {"positions": positions}


def _completed(group: str, node: dict[str, Any]) -> dict[str, Any]:
    """Settings that are not given are those of the yaml."""
    name = str(node.get("name"))
    node = (defaults_of(group, name) if name in choices(group) else {}) | node
    _check_plugin(group, node)
    return node


def _same_kind(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    return default is None or type(value) is type(default)


def _refuse_impossible(config: Config) -> None:
    """Numbers out of range, alone or against each other."""
    for key, (least, most) in RANGES.items():
        value: Any = reduce(getattr, key.split("."), config)
        if value is not None and not least <= value <= most:
            raise ConfigError(f"{key}={value}: must be between {least} and {most}")
    named = {f"{group}.name": tuple(choices(group)) for group in ("model", "optimizer")}
    for key, names in {**CHOICES, **named}.items():
        value = reduce(getattr, key.split("."), config)
        check_choice(key, value, names)
    model, length = config.model, config.length
    if model.causal != defaults_of("model", model.name).get("causal", model.causal):
        raise ConfigError(f"model.causal={model.causal}: model={model.name} is the other kind")
    Shape(model.width, model.heads, model.layers, model.causal)  # raises where heads do not divide
    if not 0 <= model.dropout < 1:
        raise ConfigError(f"model.dropout={model.dropout}: must be at least 0 and below 1")
    if not 0 < config.optimizer.lr < math.inf:
        raise ConfigError(f"optimizer.lr={config.optimizer.lr}: must be above 0")
    betas = config.optimizer.betas
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ConfigError(f"optimizer.betas={betas}: two numbers in [0, 1)")
    if length.train < length.min:
        raise ConfigError(f"length.train={length.train}: must be at least length.min={length.min}")
    if length.test < length.train:
        raise ConfigError(
            f"length.test={length.test}: must be at least length.train={length.train}"
        )
    sizes, (least, most) = config.eval.second, RANGES["length.test"]
    if sizes is not None and not all(least <= size <= most for size in sizes or [0]):
        raise ConfigError(f"eval.second={sizes}: name sizes from {least} to {most}, or null")
    for key in ("lengths", "probe_lengths"):
        lengths = getattr(config.eval, key)
        if lengths == []:
            raise ConfigError(f"eval.{key}=[]: name lengths, or null for a grid of them")
        if lengths and min(lengths) < 1:
            raise ConfigError(f"eval.{key}={lengths}: must be at least 1")
        if lengths and max(lengths) > length.test:
            raise ConfigError(
                f"eval.{key}={lengths}: beyond length.test={length.test}; "
                f"set length.test={max(lengths)} or more"
            )
    if not config.outputs.strip():
        raise ConfigError("outputs=: is empty; name a folder to write in")
