"""The command line of train.py: Hydra, with one clear line for whatever a user got wrong."""

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any, cast, get_type_hints

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from posenc import sweep
from posenc.errors import ConfigError, Interrupted, RunFailed, one_of, suggestion
from posenc.schema import CONFIGS, PROJECT, Config, choices, load

OmegaConf.register_new_resolver("posenc_project", lambda name: str(PROJECT / name))


MENDABLE = (ConfigError, RunFailed, HydraException, OmegaConfBaseException)
"""What a user can mend; anything else is a fault of the program and keeps its traceback."""


def main() -> None:
    """Exit codes: 0 done, 1 a run failed, 2 a bad command, 130 and 143 stopped by a signal."""
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors arrive whole, to be put in one line
    # Hydra raises a bare ValueError for encoding=null, and OSError where it cannot make a folder.
    with one_line_errors(*MENDABLE, ValueError, OSError):
        try:
            _hydra_main()
        except Interrupted:
            sweep.summarise(stopped=True)
            raise
        except Exception:
            sweep.summarise()
            raise
        sweep.summarise()


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def _hydra_main(raw: DictConfig) -> float:
    if HydraConfig.get().mode == RunMode.RUN:
        with one_line_errors(*MENDABLE):  # here already, as Hydra would print a line of its own
            return _job(raw)
    return _job(raw)


def _job(raw: DictConfig) -> float:
    for group, choice in HydraConfig.get().runtime.choices.items():
        if not isinstance(choice, str | None):
            raise ConfigError(f"{group}={choice}: choose one, or put -m first to run several")
    config = load(raw)
    from posenc.run import train  # imports torch, which a bad command need not wait for

    try:
        return train(config)
    except MENDABLE:
        raise
    except Exception as error:  # before the run began: there is no folder to tell of it
        traceback.print_exc()
        raise RunFailed(f"{type(error).__name__}: {error}") from error


@contextmanager
def one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Inside, errors of these kinds end the program with one line on stderr, status 1 or 2."""
    try:
        yield
    except kinds as error:
        print(f"error: {explain(error)}", file=sys.stderr)
        sys.exit(1 if isinstance(error, RunFailed) else 2)
    except KeyboardInterrupt:
        sys.exit(130)


def explain(error: Exception) -> str:
    """The message in one line; Hydra's own with the remedy that is right for this program."""
    if isinstance(error, OverrideParseException):
        return f"'{error.override}' cannot be read: write key=value"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines[0].startswith("Config group override must be"):
        given = (argument.partition("=") for argument in sys.argv[1:])
        wrong = [(key, value) for key, _, value in given if value not in choices(key) != []]
        return "; ".join(f"{key}={value}: {one_of(choices(key))}" for key, value in wrong)
    if match := re.match(r"Could not override '([^']*)'", lines[0]):
        return f"{match[1]}: no such key; {suggestion(*_unknown_part(match[1]))}"
    if match := re.match(r"Ambiguous value for argument '([^']*)'", lines[0]):
        return f"{match[1]} names several values: put -m first to run them all, or choose one"
    if match := re.search(r"Could not find '([^']*)'", lines[0]):
        group, _, name = match[1].rpartition("/")
        available = re.findall(r"^\t(\w+)$", str(error), re.MULTILINE)
        return f"{group}={name}: {one_of(available)}"
    return " ".join(lines)


def _unknown_part(key: str) -> tuple[str, list[str]]:
    """The first part of a dotted key that is unknown, and the keys known in its place.

    Of the settings of a chosen class none are known here.
    """
    part, known, schema = "", list[str](), cast(Any, Config)
    for part in key.split("."):
        known = list(get_type_hints(schema)) if is_dataclass(schema) else []
        if part not in known:
            break
        schema = get_type_hints(schema)[part]
    return part, known
