"""The shape of a configuration: types, unknown keys and impossible numbers stop here.

Nothing in this file imports torch, so a mistake on the command line costs no waiting. Defaults
stand in configs/ alone.
"""

import math
from dataclasses import dataclass, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException, ValidationError

from posenc.errors import ConfigError, one_of, suggestion
from posenc.shapes import Shape

PROJECT = Path(__file__).resolve().parents[2]
CONFIGS = PROJECT / "configs"
if not CONFIGS.is_dir():
    raise ImportError(f"{CONFIGS} is missing: posenc runs from its checkout, so install it with -e")
PLUGINS = ("task", "encoding", "positions")
"""Groups whose keys are those of the chosen yaml and name the settings of a class."""


@dataclass
class Length:
    min: int
    train: int
    test: int


@dataclass
class Data:
    batch_size: int
    workers: int


@dataclass
class Model:
    name: str
    causal: bool
    width: int
    heads: int
    layers: int
    dropout: float


@dataclass
class Optimizer:
    name: str
    lr: float
    betas: list[float]
    weight_decay: float
    warmup: float


@dataclass
class Trainer:
    max_steps: int
    gradient_clip_val: float | None
    accumulate_grad_batches: int
    accelerator: str
    precision: str
    log_every_n_steps: int
    enable_progress_bar: bool


@dataclass
class Eval:
    samples: int
    lengths: list[int] | None
    seed: int
    probe_every: int
    probe_lengths: list[int] | None
    probe_samples: int


@dataclass
class Logger:
    name: str


@dataclass
class Checkpoint:
    every: int


@dataclass
class Config:
    task: dict[str, Any]
    encoding: dict[str, Any]
    positions: dict[str, Any]
    model: Model
    optimizer: Optimizer
    trainer: Trainer
    eval: Eval
    logger: Logger
    seed: int
    length: Length
    data: Data
    threads: int
    checkpoint: Checkpoint
    outputs: str
    overwrite: bool


AT_LEAST: dict[str, float] = {
    "seed": 0, "length.min": 1, "data.batch_size": 1, "data.workers": 0, "threads": 1,
    "checkpoint.every": 1, "model.width": 1, "model.heads": 1, "model.layers": 1,
    "model.dropout": 0, "optimizer.weight_decay": 0, "optimizer.warmup": 0, "trainer.max_steps": 1,
    "trainer.gradient_clip_val": 0, "trainer.accumulate_grad_batches": 1,
    "trainer.log_every_n_steps": 1,
    "eval.samples": 1, "eval.seed": 0, "eval.probe_every": 1, "eval.probe_samples": 1,
}  # fmt: skip


CHOICES: dict[str, tuple[str, ...]] = {
    "trainer.accelerator": ("cpu", "gpu"),
    "trainer.precision": ("32-true", "bf16-mixed"),
}


def load(raw: DictConfig | dict[str, Any]) -> Config:
    """Raises ConfigError unless every key is known, has its type and can work with the others."""
    try:
        plain = OmegaConf.to_container(OmegaConf.create(raw), resolve=True)
        assert isinstance(plain, dict)
        _refuse_unknown(Config, plain, "")
        for group in PLUGINS:
            _check_plugin(group, plain[group])
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), plain))
    except ValidationError as error:
        raise ConfigError(_wrong_type(str(error.full_key), plain)) from None
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


def _wrong_type(key: str, value: Any) -> str:
    key, kind = key.partition("[")[0], cast(Any, Config)
    for part in key.split("."):
        kind, value = get_type_hints(kind)[part], value[part]
    name = str(kind) if get_args(kind) else kind.__name__
    return f"{key}={value}: must be of type {name}"


def _refuse_unknown(schema: Any, plain: Any, prefix: str) -> None:
    """Every dataclass field must be a key of `plain`, and the other way round."""
    fields = get_type_hints(schema)
    if not isinstance(plain, dict):
        raise ConfigError(f"{prefix.rstrip('.')}={plain}: the keys are {', '.join(fields)}")
    for key in plain:
        if key not in fields:
            raise ConfigError(f"{prefix}{key}: no such key; {suggestion(str(key), fields)}")
    for key, kind in fields.items():
        if key not in plain:
            raise ConfigError(f"{prefix}{key} is missing")
        if is_dataclass(kind):
            _refuse_unknown(kind, plain[key], f"{prefix}{key}.")


def _check_plugin(group: str, node: Any) -> None:
    """The keys of a chosen class are those of its yaml, and so are the types of their values."""
    name = str(node.get("name") if isinstance(node, dict) else node)
    if not isinstance(node, dict) or name not in choices(group):
        raise ConfigError(f"{group}={name}: {one_of(choices(group))}")
    defaults = defaults_of(group, name)
    target, known = node.get("_target_"), defaults["_target_"]
    if target != known:
        raise ConfigError(f"{group}._target_={target}: {name} is {known}; set {group}={name}")
    for key in map(str, node.keys() - defaults.keys()):
        raise ConfigError(f"{group}.{key}: no such key; {suggestion(key, defaults)}")
    for key, default in defaults.items():
        if key not in node:
            raise ConfigError(f"{group}.{key} is missing")
        if not _same_kind(node[key], default):
            kind = type(default).__name__
            raise ConfigError(f"{group}.{key}={node[key]}: must be of type {kind}, as {default} is")
        if isinstance(default, float):
            node[key] = float(node[key])  # 10000 and 10000.0 are one configuration


def _same_kind(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    return default is None or type(value) is type(default)


def _refuse_impossible(config: Config) -> None:
    """Numbers out of range, alone or against each other."""
    for key, least in AT_LEAST.items():
        value: Any = reduce(getattr, key.split("."), config)
        if value is not None and not least <= value < math.inf:
            raise ConfigError(f"{key}={value}: must be at least {least}")
    named = {f"{group}.name": tuple(choices(group)) for group in ("model", "optimizer", "logger")}
    for key, names in {**CHOICES, **named}.items():
        value = reduce(getattr, key.split("."), config)
        if value not in names:
            raise ConfigError(f"{key}={value}: {one_of(names)}")
    model, length = config.model, config.length
    if model.causal != defaults_of("model", model.name).get("causal", model.causal):
        raise ConfigError(f"model.causal={model.causal}: model={model.name} is the other kind")
    Shape(model.width, model.heads, model.layers, model.causal)  # raises where heads do not divide
    if not model.dropout < 1:
        raise ConfigError(f"model.dropout={model.dropout}: must be below 1")
    if not 0 < config.optimizer.lr < math.inf:
        raise ConfigError(f"optimizer.lr={config.optimizer.lr}: must be above 0")
    if not config.optimizer.warmup <= 1:
        raise ConfigError(f"optimizer.warmup={config.optimizer.warmup}: is a share, at most 1")
    betas = config.optimizer.betas
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ConfigError(f"optimizer.betas={betas}: two numbers in [0, 1)")
    if length.train < length.min:
        raise ConfigError(f"length.train={length.train}: must be at least length.min={length.min}")
    if length.test < length.train:
        raise ConfigError(
            f"length.test={length.test}: must be at least length.train={length.train}"
        )
    for key in ("lengths", "probe_lengths"):
        if getattr(config.eval, key) == []:
            raise ConfigError(f"eval.{key}=[]: name lengths, or null for a grid of them")
        for value in getattr(config.eval, key) or []:
            if not 1 <= value <= length.test:
                raise ConfigError(
                    f"eval.{key}: {value} is outside 1..{length.test}, the last being length.test"
                )
