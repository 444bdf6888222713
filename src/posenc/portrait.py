"""What an encoding is before any training: its page, its size and cost, pictures of its work."""

from bisect import bisect_right
from importlib import import_module
from pathlib import Path

import altair as alt
from torch import Tensor

from posenc.catalogue import ENCODINGS, Facts, page
from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.model.layout import slots
from posenc.model.transformer import Transformer
from posenc.positions.base import Slots
from posenc.results.by_encoding import training_steps
from posenc.results.figures import png
from posenc.schema import Config, defaults_of
from posenc.seeding import generator
from posenc.training.pictures import encoding_pictures

SHORTEST, LONGEST = 8, 4096
"""Tokens of a text: fewer make no picture, and the queries of a matrix each ask all of them."""


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
    if not SHORTEST <= length <= LONGEST:
        raise ConfigError(f"length={length}: must be between {SHORTEST} and {LONGEST} tokens")
    net = experiment.net.eval()
    ids = _ids(config, experiment, length)
    pictures = encoding_pictures(net.encoding, ids)
    files = _written(pictures, folder)
    print(_text(config, net))
    if not files:
        print("pictures     none: before training nothing in it depends on positions")
        return
    print(f"pictures     {ids.shape[1]} tokens, before training, seed {config.seed}")
    for file in files:
        print(f"             {file}")


def _ids(config: Config, experiment: Experiment, length: int) -> Tensor:
    """(1, T) ids from the positions of a configuration.

    T is the length, or where the task marks its tokens, in an addition say, the tokens of its
    longest problem that has no more.
    """
    task, causal = experiment.task, experiment.net.shape.causal

    def known(size: int) -> Slots:
        return slots(task.sample(1, size, generator(config.seed, "show")), causal=causal)

    legal = task.lengths(1, length + task.minimum)
    fitting = bisect_right(legal, length, key=lambda size: known(size).tokens)
    marked = known(legal[max(fitting - 1, 0)])
    plain = marked.places is None and marked.coordinates is None
    text = Slots(1, length) if plain else marked
    return experiment.positions.evaluate(text, generator(config.seed, "show positions"))


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
        source = f", positions={part['positions']['name']}" if part["positions"] else ""
        lines += [f"{part['name']}{source}: {of_part.summary}.", ""]
        lines += [*(f"    {line}" for line in of_part.formula.splitlines()), ""]
    source = config.positions["name"]
    lines += [
        f"positions    {source}: {page('positions', source).summary}",
        f"acts by      {', '.join(fact.hooks) or 'nothing'}",
        f"parameters   {fact.parameters:,}",
    ]
    if (ratio := training_steps(ENCODINGS).get(name)) is not None:
        lines.append(f"step         {ratio:.2f} of one without encoding (experiments/encodings)")
    return "\n".join(lines)
