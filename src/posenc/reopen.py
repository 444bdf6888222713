"""A run folder made into objects again, for scripts that look at a finished run."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from os.path import realpath
from pathlib import Path
from typing import cast

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from posenc.choosing import defaults_of
from posenc.errors import ConfigError
from posenc.results.identity import EVALUATION_KEYS, NEUTRAL_KEYS, leaf
from posenc.results.records import RunFolder
from posenc.schema import Config, load

CHANGEABLE = (
    *EVALUATION_KEYS, "encoding.factor_at_eval", "encoding.max_length", "trainer.accelerator",
    "threads", "task.path",
)  # fmt: skip
"""Keys that may differ from those of the run, together with all below them.

Those of an encoding stand for the same of its parts, too: encoding.parts.0.max_length.
"""
NEUTRAL = {
    key: value
    for key, value in defaults_of("trainer", "default").items()
    if f"trainer.{key}" in NEUTRAL_KEYS
}
"""What of the trainer changes no run, so that one which was made before such a key may lack it."""
PART = re.compile(r"^encoding\.parts(\.\d+|\[\d+\])\.")


def arguments(given: Sequence[str], own: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Splits key=value arguments into a script's own, all of them required, and the others."""
    found: dict[str, str] = {}
    others = []
    for argument in given:
        key, equals, value = argument.partition("=")
        if not key or not equals:
            raise ConfigError(f"'{argument}': write key=value")
        if key in own:
            found[key] = value
        else:
            others.append(argument)
    for key in own:
        if key not in found:
            raise ConfigError(f"{key}= is missing; --help shows how it is given")
    return found, others


def reopen(path: str, changes: Sequence[str]) -> tuple[Config, RunFolder]:
    """The settings of a finished run, with changes such as `length.test=200`, and its folder.

    Raises ConfigError where there is no finished run, where a change would be another network, and
    where the settings are no longer those that the folder is named after.
    """
    folder = RunFolder(Path(realpath(path)))
    status = folder.status().get("status")
    if status != "finished":
        found = f"the run is {status}, not finished" if status else "there is no run"
        raise ConfigError(f"run={path}: {found}; train.py prints the folder of a run when it ends")
    for change in changes:
        key = PART.sub("encoding.", change.partition("=")[0])
        if not any(key == known or key.startswith(f"{known}.") for known in CHANGEABLE):
            key = change.partition("=")[0]
            raise ConfigError(f"{key}: belongs to training; {', '.join(CHANGEABLE)} can change")
    try:
        wanted = OmegaConf.from_dotlist(list(changes))
    except YAMLError:
        raise ConfigError(f"'{' '.join(changes)}' cannot be read: write key=value") from None
    file = folder.path / "config.yaml"
    try:
        saved = OmegaConf.load(file)
        if not isinstance(saved, DictConfig):
            raise ValueError("holds no settings")
        saved = cast(DictConfig, OmegaConf.merge({"trainer": NEUTRAL}, saved))
        if moved := OmegaConf.select(wanted, "task.path"):
            OmegaConf.update(saved, "task.path", moved)
        own = leaf(asdict(load(saved)))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{file}: {error}") from None
    if folder.path.name != own:
        raise ConfigError(
            f"{file} is that of {own}: restore the file if it was changed, or the name of its "
            "folder if that was"
        )
    try:
        saved.merge_with_dotlist(list(changes))
    except OmegaConfBaseException as error:
        raise ConfigError(f"{' '.join(changes)}: {error}") from None
    return load(saved), folder
