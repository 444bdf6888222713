"""What an encoding is before any training: its page, its size and cost, pictures of its work."""

from importlib import import_module
from pathlib import Path

import altair as alt
from torch import Tensor

from posenc.catalogue import Facts, page, training_steps
from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.model.layout import slots
from posenc.model.transformer import Transformer
from posenc.results.figures import png
from posenc.schema import Config, defaults_of
from posenc.seeding import generator
from posenc.training.pictures import encoding_pictures

LONGEST = 4096
"""Tokens of a picture; the hundred queries of a matrix each ask all of them."""


def facts(net: Transformer) -> Facts:
    """By which hooks an encoding acts, in words, how many parameters it has, in all layers."""
    hooks = {hook: None for part in net.encoding.parts for hook in _hooks(part)}
    parameters = sum(parameter.numel() for parameter in net.encodings.parameters())
    return Facts(list(hooks), parameters, net.encoding.causal_only)


def decoder_only(name: str) -> bool:
    """Whether an encoding is defined for causal models alone."""
    module, _, own = defaults_of("encoding", name)["_target_"].rpartition(".")
    return bool(getattr(import_module(module), own).causal_only)


def _hooks(part: Encoding) -> list[str]:
    """A `rotate` beside a bias or a score only scales their share of the logit."""
    changed = {
        hook: getattr(type(part), hook) is not getattr(Encoding, hook)
        for hook in ("embed", "rotate", "bias", "score")
    }
    found = ["additive"] * changed["embed"] + ["bias"] * changed["bias"]
    found += ["score"] * changed["score"]
    return found or ["queries and keys"] * changed["rotate"]


def portray(config: Config, experiment: Experiment, *, length: int, folder: Path) -> None:
    """Prints what the encoding of a configuration is, and draws it into a folder.

    Raises ConfigError where the length or the folder cannot be used.
    """
    if not 2 <= length <= LONGEST:
        raise ConfigError(f"length={length}: must be between 2 and {LONGEST} tokens")
    net = experiment.net.eval()
    pictures = encoding_pictures(net.encoding, _ids(config, experiment, length))
    files = _written(pictures, folder)
    print(_text(config, net))
    if not files:
        print("pictures     none: before training nothing in it depends on positions")
        return
    print(f"pictures     {length} tokens, before training, seed {config.seed}")
    for file in files:
        print(f"             {file}")


def _ids(config: Config, experiment: Experiment, length: int) -> Tensor:
    """(1, length) ids as the positions give them to the first tokens of a problem of the task."""
    legal = experiment.task.lengths(length, 2 * length + experiment.task.minimum)
    sample = experiment.task.sample(1, legal[0], generator(config.seed, "show"))
    known = slots(sample, causal=experiment.net.shape.causal)
    cut = known._replace(
        tokens=length,
        places=None if known.places is None else known.places[:, :length],
        coordinates=None if known.coordinates is None else known.coordinates[:, :length],
    )
    return experiment.positions.evaluate(cut, generator(config.seed, "show positions"))


def _written(pictures: dict[str, alt.TopLevelMixin], folder: Path) -> list[Path]:
    """One PNG a picture; those of an earlier call do not stay beside them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("table", "similarity", "rotation", "bias", "score", "distance"):
            (folder / f"{name}.png").unlink(missing_ok=True)
        for name, chart in pictures.items():
            (folder / f"{name}.png").write_bytes(png(chart))
    except OSError as error:
        raise ConfigError(f"out={folder}: {error.strerror}; name a folder to write in") from None
    return [folder / f"{name}.png" for name in pictures]


def _text(config: Config, net: Transformer) -> str:
    """The page of an encoding and of its parts, and figures."""
    model, name = config.model, str(config.encoding["name"])
    own, fact = page("encoding", name), facts(net)
    lines = [
        f"encoding={name}, {model.name} of {model.layers} layers and {model.heads} heads, "
        f"width {model.width}",
        "",
        own.text,
        "",
    ]
    for part in config.encoding.get("parts") or []:
        of_part = page("encoding", part["name"])
        lines += [f"{part['name']}: {of_part.summary}.", ""]
        lines += [*(f"    {line}" for line in of_part.formula.splitlines()), ""]
    lines += [
        f"acts by      {', '.join(fact.hooks) or 'nothing'}",
        f"parameters   {fact.parameters:,}",
    ]
    if (ratio := training_steps().get(name)) is not None:
        lines.append(f"step         {ratio:.2f} of one of encoding=none (experiments/encodings)")
    if (source := config.positions["name"]) != "index":
        lines.append(f"positions    {source}: {page('positions', source).summary}")
    return "\n".join(lines)
