"""The objects that a configuration stands for. Only this file and run.py know a configuration."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from posenc.errors import ConfigError
from posenc.grid import evaluation_lengths, probe_lengths
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.schema import Config
from posenc.seeding import generator, initialisation
from posenc.shapes import Shape
from posenc.tasks.base import Task


@dataclass(frozen=True)
class Experiment:
    """The objects that a configuration stands for, and the lengths they are used at."""

    task: Task
    positions: Positions
    net: Transformer
    trained: list[int]
    evaluated: list[int]
    probed: list[int]

    def check_room(self, tokens: int) -> None:
        """Raises ConfigError where the encoding's table has no row for one of so many tokens."""
        rows, needed = self.net.encoding.max_length, self.positions.bound(tokens)
        if rows is not None and needed > rows:
            encoding, positions = map(_stem, (self.net.encoding, self.positions))
            raise ConfigError(
                f"encoding.max_length={rows}: {encoding} needs {needed} rows for {tokens} tokens "
                f"of prompt and answer with positions={positions}: set encoding.max_length="
                f"{needed} before training, or shorten the sequences"
            )


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
            if wanted not in task.lengths(1, length.test):
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
    longest = task.sample(
        1, max(trained + experiment.evaluated + experiment.probed), generator(0, "size")
    )
    experiment.check_room(longest.prompt.shape[1] + longest.answer.shape[1])
    return experiment


def _network(config: Config, task: Task) -> Transformer:
    """Trunk and encoding draw from streams of their own, so that trunks of one seed are alike."""
    model = config.model
    shape = Shape(model.width, model.heads, model.layers, model.causal)
    with initialisation(config.seed, "encoding"):
        encodings = [_make(config.encoding, shape)]
        if encodings[0].per_layer:
            encodings += [_make(config.encoding, shape) for _ in range(1, shape.layers)]
    with initialisation(config.seed, "trunk"):
        return Transformer(shape, len(task.vocabulary), encodings, dropout=model.dropout)


def _make(node: dict[str, Any], *arguments: Any) -> Any:
    """The class that `_target_` names, which the schema has checked, with the other keys."""
    module, _, name = node["_target_"].rpartition(".")
    settings = {key: value for key, value in node.items() if key not in ("name", "_target_")}
    return getattr(import_module(module), name)(*arguments, **settings)


def _stem(part: object) -> str:
    """The name of the file that a part's class is written in."""
    return type(part).__module__.rpartition(".")[2]


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint as plain containers and tensors; no code in it is ever run.

    Raises ConfigError where the file is missing or is no such checkpoint.
    """
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(
            f"{path}: {reason} (overwrite=true trains the run from the start)"
        ) from None


def load_weights(net: Transformer, checkpoint: dict[str, Any]) -> None:
    """Puts the weights of a training checkpoint into a network of the same configuration."""
    weights = checkpoint["state_dict"]
    net.load_state_dict({name.removeprefix("net."): value for name, value in weights.items()})
