"""What an encoding is before any training: its page, its size and cost, pictures of its work."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from posenc.building import build, make_task
from posenc.catalogue import SPEED, page
from posenc.choosing import defaults_of
from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.model.transformer import Transformer
from posenc.pages import Facts
from posenc.results.charts import Picture, png, subtitled
from posenc.results.kept import training_steps
from posenc.schema import Config
from posenc.training.pictures import PICTURES, encoding_pictures, longest_fitting, text_ids

SHORTEST, LONGEST = 8, 4096
"""Tokens of a text: fewer make no picture, and the queries of a matrix each ask all of them."""


def facts(net: Transformer) -> Facts:
    """By which hooks an encoding acts, in words, how many parameters it has, in all layers."""
    hooks = {hook: None for part in net.encoding.parts for hook in _hooks(part)}
    parameters = sum(parameter.numel() for parameter in net.encodings.parameters())
    return Facts(list(hooks), parameters, net.encoding.causal_only)


def model_for(name: str, group: str = "encoding") -> str:
    """The encoder, or the decoder where a choice is defined for causal models alone."""
    module, _, own = defaults_of(group, name)["_target_"].rpartition(".")
    return "decoder" if getattr(import_module(module), own).causal_only else "encoder"


def _hooks(part: Encoding) -> list[str]:
    """A `rotate` beside a bias or a score only scales their share of the logit."""
    words = {"embed": "additive", "bias": "bias", "score": "score"}
    found = [words[hook] for hook in part.hooks() if hook in words]
    return found or ["queries and keys"] * ("rotate" in part.hooks())


def portray(config: Config, *, length: int, folder: Path) -> None:
    """Prints what the encoding of a configuration is, and draws it into a folder.

    It is drawn for the longest problem of the task that has no more than `length` tokens, and what
    follows from the lengths of a run, as the factor of a scaled RoPE does, follows from that one.

    Raises ConfigError where the length or the folder cannot be used.
    """
    if not SHORTEST <= length <= LONGEST:
        raise ConfigError(
            f"length={length}: with encoding= it counts tokens, from {SHORTEST} to {LONGEST}"
        )
    problem = longest_fitting(make_task(config), length, causal=config.model.causal)
    alone = replace(config.eval, lengths=[problem], probe_lengths=[problem])
    experiment = build(replace(config, eval=alone))
    net = experiment.net.eval()
    ids = text_ids(experiment, problem, seed=config.seed)
    pictures = encoding_pictures(net.encoding, ids)
    tokens = ids.shape[1]
    files = _written(pictures, folder, subtitle=caption(config, tokens))
    print(_text(config, net))
    if not files:
        print("pictures     none: before training nothing in it depends on positions")
        return
    print(f"pictures     {tokens} tokens, before training, seed {config.seed}")
    for file in files:
        print(f"             {file}")


def caption(config: Config, tokens: int) -> list[str]:
    """What tells a picture from those of other settings."""
    model, task = config.model, _named("task", config.task)
    encoding, positions = _named("encoding", config.encoding), _named("positions", config.positions)
    return [
        f"{encoding}, {model.name}, positions={positions}, {tokens} tokens of {task}",
        f"{model.heads} heads, width {model.width}, untrained, seed {config.seed}",
    ]


def _named(group: str, settings: Mapping[str, Any]) -> str:
    """The name of a choice, and in parentheses the settings that its yaml does not say."""
    name, usual = settings["name"], defaults_of(group, settings["name"])
    changed = []
    for key, value in settings.items():
        if value == usual.get(key):
            continue
        if key == "parts":
            value = f"[{', '.join(_named('encoding', part) for part in value)}]"
        elif key == "positions":
            value = _named("positions", value)
        changed.append(f"{key}={value}")
    return f"{name} ({', '.join(changed)})" if changed else str(name)


def _written(
    pictures: Mapping[str, Picture], folder: Path, *, subtitle: Sequence[str]
) -> list[Path]:
    """One PNG a picture; those of an earlier call do not stay beside them."""
    try:
        for name in PICTURES:
            (folder / f"{name}.png").unlink(missing_ok=True)
        for name, chart in pictures.items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.png").write_bytes(png(subtitled(chart, subtitle)))
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
    steps = training_steps(SPEED)
    if "parts" not in config.encoding and (ratio := steps.get(name)) is not None:
        lines.append(
            f"step         {ratio:.2f} of one without encoding, in the network and on the texts of "
            "experiments/encodings"
        )
    return "\n".join(lines)
