"""From a configuration to the objects that it stands for."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.grid import evaluation_lengths, probe_lengths
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.schema import Config
from posenc.seeding import generator, initialisation
from posenc.shapes import Shape
from posenc.tasks.base import Task
from posenc.training.data import Batches
from posenc.training.optimizer import adamw


def build(config: Config) -> Experiment:
    """Raises ConfigError where parts that are fine alone do not go together."""
    task: Task = _make(config.task)
    positions: Positions = _make(config.positions)
    length, name = config.length, config.task["name"]
    if config.trainer.accelerator == "gpu" and not torch.cuda.is_available():
        raise ConfigError("trainer.accelerator=gpu: PyTorch finds none here; cpu would run")
    if length.min < task.minimum:
        raise ConfigError(f"length.min={length.min}: {name} needs at least {task.minimum}")
    legal = task.lengths(length.min, length.test)
    trained = [n for n in legal if n <= length.train]
    if not trained:
        raise ConfigError(
            f"length.min={length.min} length.train={length.train}: no length of {name} in between"
        )
    for key in ("lengths", "probe_lengths"):
        for wanted in getattr(config.eval, key) or []:
            if not task.lengths(wanted, wanted):
                raise ConfigError(f"eval.{key}: {name} is not defined at length {wanted}")
    span = (length.min, length.train, length.test)
    experiment = Experiment(
        task=task,
        positions=positions,
        net=_network(config, task),
        trained=trained,
        evaluated=sorted(set(config.eval.lengths or evaluation_lengths(task, *span))),
        probed=sorted(set(config.eval.probe_lengths or probe_lengths(task, *span))),
    )
    experiment.check_room(
        _tokens(task, max(experiment.evaluated + experiment.probed)),
        trained=_tokens(task, max(trained)),
    )
    return experiment


def _tokens(task: Task, length: int) -> int:
    """Of a problem of this length, prompt and answer together."""
    sample = task.sample(1, length, generator(0, "size"))
    return sample.prompt.shape[1] + sample.answer.shape[1]


def _network(config: Config, task: Task) -> Transformer:
    """Trunk and encoding draw from streams of their own, so that trunks of one seed are alike."""
    model = config.model
    shape = Shape(model.width, model.heads, model.layers, model.causal)
    try:
        with initialisation(config.seed, "encoding"):
            encodings = [_make(config.encoding, shape)]
            if encodings[0].per_layer:
                encodings += [_make(config.encoding, shape) for _ in range(1, shape.layers)]
            for later in encodings[1:]:
                later.share(encodings[0])
        with initialisation(config.seed, "trunk"):
            return Transformer(shape, len(task.vocabulary), encodings, dropout=model.dropout)
    except RuntimeError as error:
        if "DefaultCPUAllocator" not in str(error):  # what PyTorch names when memory runs out
            raise
        raise ConfigError(
            f"model.width={model.width} model.layers={model.layers}: with its encoding and the "
            "symbols of the task, the network does not fit into memory"
        ) from None


def _make(node: dict[str, Any], *arguments: Any) -> Any:
    """The class that `_target_` names, which the schema has checked, with the other keys."""
    module, _, name = node["_target_"].rpartition(".")
    settings = {key: value for key, value in node.items() if key not in ("name", "_target_")}
    return getattr(import_module(module), name)(*arguments, **settings)


def batches(config: Config, experiment: Experiment) -> Batches:
    """The training data."""
    return Batches(
        experiment.task, experiment.trained, rows=config.data.batch_size, seed=config.seed
    )


def optimizer_maker(config: Config) -> Callable[[nn.Module], tuple[Optimizer, LRScheduler]]:
    """Turns a network into its optimizer and schedule."""
    settings = asdict(config.optimizer)
    del settings["name"]
    return partial(adamw, **settings, max_steps=config.trainer.max_steps)
