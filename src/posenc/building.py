"""From a configuration to the objects that it stands for."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.grid import evaluation_lengths, probe_lengths
from posenc.launching import cores
from posenc.model.layout import slots
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions, Slots
from posenc.positions.several import Several
from posenc.schema import Config
from posenc.seeding import initialisation
from posenc.shapes import Shape
from posenc.tasks.base import Task
from posenc.training.data import Batches
from posenc.training.optimizer import adamw

WEIGHTS = 12
"""Of a layer, times the square of its width."""


def build(config: Config) -> Experiment:
    """Raises ConfigError where parts that are fine alone do not go together."""
    task = make_task(config)
    length, name = config.length, config.task["name"]
    if config.trainer.accelerator == "gpu" and not torch.cuda.is_available():
        raise ConfigError("trainer.accelerator=gpu: PyTorch finds none here; cpu would run")
    trained = task.lengths(length.min, length.train)
    if not trained:
        others = task.lengths(1, length.test)
        raise ConfigError(
            f"length.min={length.min} length.train={length.train}: no length of {name} in between; "
            f"{_some(others) or 'none is left to train on, up to length.test'}"
        )
    if config.data.curriculum == "fixed":
        trained = trained[-1:]
    if task.causal_only and not config.model.causal:
        raise ConfigError(
            f"model={config.model.name}: it would look ahead in the prompt, where the answers of "
            f"{name} stand; set model=decoder"
        )
    tested = task.unseen(trained)
    testable = tested.lengths(length.min, length.test)
    if not testable:
        raise ConfigError(
            f"length.min={length.min} length.test={length.test}: {name} leaves no problem to test "
            "in between; let it hold out more, or give it longer ones"
        )
    for key in ("lengths", "probe_lengths"):
        for wanted in getattr(config.eval, key) or []:
            if not tested.lengths(wanted, wanted):
                raise ConfigError(
                    f"eval.{key}: {name} has no problem of length {wanted} to test; "
                    f"{_some(testable)}"
                )
    span = (length.min, length.train, length.test)
    evaluated = sorted(set(config.eval.lengths or evaluation_lengths(tested, *span)))
    probed = sorted(set(config.eval.probe_lengths or probe_lengths(tested, *span)))
    longest_trained = _longest(task, trained, causal=config.model.causal)
    grid = [tested, *(tested.sized(second) for second in config.eval.second or [])]
    causal = config.model.causal
    longest_tested = max(
        (_longest(each, evaluated, causal=causal) for each in grid), key=attrgetter("tokens")
    )
    _check_logits(config, task, trained[-1])
    tied = {
        "threshold": longest_trained.tokens,
        "trained_length": longest_trained.tokens,
        "factor_at_eval": max(1.0, longest_tested.tokens / longest_trained.tokens),
    }
    experiment = Experiment(
        task=task,
        positions=_positions(config, tied),
        net=_network(config, task, tied),
        trained=trained,
        evaluated=evaluated,
        probed=probed,
    )
    for each in grid:
        experiment.check_room(_longest(each, evaluated + probed, causal=causal), longest_trained)
    return experiment


def _some(lengths: Sequence[int]) -> str:
    """What legal lengths there are, in a few words; empty where there are none."""
    shown = list(map(str, lengths[:4])) + ["..."] * (len(lengths) > 5)
    shown += [str(lengths[-1])] * (len(lengths) > 4)
    return f"it has {', '.join(shown)}" if lengths else ""


def check_training(config: Config) -> None:
    """Raises ConfigError where this machine cannot train as the trainer's settings ask."""
    trainer, rows = config.trainer, config.data.batch_size
    ranks = f"trainer.devices={trainer.devices}"
    if trainer.devices > 1 and trainer.accelerator == "gpu":
        raise ConfigError(f"{ranks}: one GPU trains; set trainer.devices=1 or trainer=ddp")
    if trainer.devices > rows:
        raise ConfigError(
            f"{ranks}: a batch of data.batch_size={rows} problems is divided among at most {rows}"
        )
    if trainer.devices > (usable := cores(1)):
        raise ConfigError(f"{ranks}: this process may use {usable} CPU cores; set at most as many")
    if trainer.compile:
        _check_compiler("cuda" if trainer.accelerator == "gpu" else "cpu")


def _check_compiler(device: str) -> None:
    """Compiles the least there is, as nothing else tells whether all that it takes is there."""
    try:
        compiled = torch.compile(torch.neg, options={"fx_graph_cache": False})
        compiled(torch.ones(1, device=device))
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(
            f"trainer.compile=true: torch.compile does not work here ({reason}); install a C++ "
            "compiler such as g++, or set trainer.compile=false"
        ) from None


def make_task(config: Config) -> Task:
    """The task of a configuration, whatever lengths it is asked at."""
    task: Task = _make(config.task)
    return task


def _longest(task: Task, lengths: Sequence[int], *, causal: bool) -> Slots:
    """The slots of a problem of the greatest of these lengths, prompt and answer together."""
    return slots(task.largest(max(lengths)), causal=causal)


def _positions(config: Config, tied: Mapping[str, float]) -> Positions:
    """The source that the run names; for an encoding of several parts, beside those they name."""
    common: Positions = _make(config.positions, tied=tied)
    parts = config.encoding.get("parts")
    if parts is None:
        return common
    owns = [part["positions"] for part in parts]
    if None not in owns:  # rows would name a source that gave no id
        raise ConfigError(
            f"positions={config.positions['name']}: no part of the encoding uses it; "
            f"set positions={owns[-1]['name']}, as the last part does"
        )
    return Several([common if own is None else _make(own, tied=tied) for own in owns])


def _check_logits(config: Config, task: Task, length: int) -> None:
    """Raises ConfigError where those of a batch, in float32, do not fit into memory."""
    rows, symbols = config.data.batch_size, len(task.vocabulary)
    answers = task.largest(length).answer.shape[1]
    if 4 * rows * answers * symbols > _memory():
        raise ConfigError(
            f"data.batch_size={rows}: {rows} problems of length {length} have logits for {answers} "
            f"places and {symbols} symbols each, which do not fit into memory; lower one of them"
        )


def _network(config: Config, task: Task, tied: Mapping[str, float]) -> Transformer:
    """Trunk and encoding draw from streams of their own, so that trunks of one seed are alike."""
    model = config.model
    shape = Shape(model.width, model.heads, model.layers, model.causal)
    too_large = ConfigError(
        f"model.width={model.width} model.layers={model.layers}: with its encoding and the symbols "
        "of the task, the network does not fit into memory"
    )
    if 4 * WEIGHTS * model.width**2 * model.layers > _memory():
        raise too_large
    try:
        with initialisation(config.seed, "encoding"):
            encodings = [_make(config.encoding, shape, tied=tied)]
            if encodings[0].per_layer:
                later = range(1, shape.layers)
                encodings += [_make(config.encoding, shape, tied=tied) for _ in later]
            for encoding in encodings[1:]:
                encoding.share(encodings[0])
        with initialisation(config.seed, "trunk"):
            return Transformer(shape, len(task.vocabulary), encodings, dropout=model.dropout)
    except RuntimeError as error:
        if "DefaultCPUAllocator" not in str(error):  # what PyTorch names when memory runs out
            raise
        raise too_large from None


def _memory() -> int:
    """Bytes of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _make(node: dict[str, Any], *arguments: Any, tied: Mapping[str, float] | None = None) -> Any:
    """The class that `_target_` names, which the schema has checked, with the other keys.

    Settings that are null and stand in `tied` follow from the lengths of the run.
    """
    tied = tied or {}
    module, _, name = node["_target_"].rpartition(".")
    settings: dict[str, Any] = {
        key: tied.get(key) if value is None else value
        for key, value in node.items()
        if key not in ("name", "_target_", "positions")
    }
    if "parts" in settings:
        settings["parts"] = [_make(part, *arguments, tied=tied) for part in settings["parts"]]
    return getattr(import_module(module), name)(*arguments, **settings)


def batches(config: Config, experiment: Experiment) -> Batches:
    """The training data. A growing curriculum meets all lengths in the second half of training."""
    count = config.trainer.max_steps * config.trainer.accumulate_grad_batches
    return Batches(
        experiment.task,
        experiment.trained,
        rows=config.data.batch_size,
        seed=config.seed,
        growth=count // 2 if config.data.curriculum == "growing" else 0,
    )


def optimizer_maker(config: Config) -> Callable[[nn.Module], tuple[Optimizer, LRScheduler]]:
    """Turns a network into its optimizer and schedule."""
    settings = asdict(config.optimizer)
    del settings["name"]
    return partial(adamw, **settings, max_steps=config.trainer.max_steps)
