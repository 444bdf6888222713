"""A configuration is read here: unknown keys, wrong types and impossible numbers go no further.

Nothing in this file imports torch, so a mistake on the command line costs no waiting.
"""

import math
import sys
from dataclasses import is_dataclass
from functools import reduce
from operator import getitem
from typing import Any, cast, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException, ValidationError

from posenc.choosing import (
    PLUGINS,
    STARTING,
    check_plugin,
    check_settings,
    choices,
    defaults_of,
    popped,
)
from posenc.errors import ConfigError, check_choice, suggestion
from posenc.problem_files import pinned
from posenc.settings import Config
from posenc.shapes import Shape

RANGES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("seed", "eval.seed"), (0, 2**63 - 1)),
    **dict.fromkeys(("length.min", "length.train", "length.test"), (1, 2**20)),
    **dict.fromkeys(("data.batch_size", "eval.samples", "eval.probe_samples"), (1, 10**7)),
    "data.workers": (0, 1024), "threads": (1, 1024), "checkpoint.every": (1, 10**9),
    "model.width": (1, 2**16), "model.heads": (1, 2**16), "model.layers": (1, 2**12),
    "optimizer.weight_decay": (0, 10**9), "optimizer.warmup": (0, 1),
    "trainer.max_steps": (1, 10**9), "trainer.gradient_clip_val": (0, 10**9),
    "trainer.accumulate_grad_batches": (1, 10**9), "trainer.log_every_n_steps": (1, 10**9),
    "eval.probe_every": (1, 10**9), "trainer.devices": (1, 1024),
}  # fmt: skip
"""Least and most. No upper end is in the way of an experiment: beyond them a library underneath
breaks, mostly with a message that names no key."""

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
        launcher, _ = (popped(group, plain) for group in STARTING)
        _refuse_unknown(Config, plain, "")
        if plain["threads"] == "auto":
            plain["threads"] = launcher.get("cores", "auto")
        for group in PLUGINS:
            check_plugin(group, plain[group])
        check_settings("logger", plain["logger"])
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
