"""The command line of train.py: Hydra, with one clear line for whatever a user got wrong."""

import logging
import os
import sys
import textwrap
import traceback
from argparse import ArgumentError
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_type_hints

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.main import get_args_parser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from posenc import __version__, launching, sweep
from posenc.choosing import CONFIGS, PROJECT, STARTING, choices
from posenc.console import forgiving_output
from posenc.errors import ConfigError, RunFailed
from posenc.explaining import explain
from posenc.importing import to_stay
from posenc.jobs import run_job
from posenc.results.outcome import Result
from posenc.schema import Config, load

OmegaConf.register_new_resolver("posenc_project", lambda name: str(PROJECT / name))


def _catalogue() -> str:
    """Every group with its choices, for --help."""
    groups = sorted(folder.name for folder in CONFIGS.iterdir() if folder.is_dir())
    lines = [f"{group}: {', '.join(choices(group))}" for group in groups]
    return "\n".join(textwrap.fill(line, 98, subsequent_indent="    ") for line in lines)


OmegaConf.register_new_resolver("posenc_choices", _catalogue)
launching.register_resolvers()


MENDABLE = (ConfigError, RunFailed, HydraException, OmegaConfBaseException)
"""What a user can mend; anything else is a fault of the program and keeps its traceback."""


def main() -> None:
    """Exit codes: 0 done, 1 a run failed, 2 a bad command, 130 and 143 stopped by a signal."""
    if "--version" in sys.argv:
        print(f"posenc {__version__}")
        return
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors arrive whole, to be put in one line
    os.environ.setdefault("RAY_DISABLE_FAILURE_SIGNAL_HANDLER", "1")  # it aborts on SIGTERM
    logging.raiseExceptions = False  # nobody may be reading what is logged
    # Hydra raises a bare ValueError for encoding=null, a bare AssertionError for hydra.verbose=5,
    # and OSError where it cannot make a folder.
    with one_line_errors(*MENDABLE, ValueError, AssertionError, OSError), forgiving_output():
        sys.argv[1:] = _readable(sys.argv[1:])
        with sweep.conducted():
            _hydra_main()


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def _hydra_main(raw: DictConfig) -> float | list[float] | None:
    own = HydraConfig.get()
    if own.mode == RunMode.RUN:
        # Here already, as Hydra would print a line of its own.
        with one_line_errors(*MENDABLE, OSError), forgiving_output():
            _refuse_several(raw, own)
            result = _job(raw, own)
    else:
        try:
            result = run_job(own, lambda: _job(raw, own, quiet=True))
        except Exception:
            if "study" not in raw.sweeper:
                raise
            return None  # which is a failed trial; of an error Hydra would print more
    return launching.returned(result, raw.sweeper.get("objectives", ["score"]))


def _refuse_several(raw: DictConfig, own: HydraConf) -> None:
    """What only a sweep has use for would otherwise be ignored."""
    if own.sweeper.get("params"):
        raise ConfigError(
            "hydra.sweeper.params: is for a sweep; put -m first, or mode: MULTIRUN below hydra: "
            "of the experiment"
        )
    if OmegaConf.select(raw, "launcher.jobs") is not None:
        launching.check_launcher(raw.launcher)
    if OmegaConf.select(raw, "sweeper.grids") not in (None, [{}]):
        raise ConfigError("sweeper.grids: put -m first to run several")
    for group, usual in zip(STARTING, ("serial", "grid"), strict=True):
        chosen = OmegaConf.select(raw, f"{group}.name")
        if chosen not in (None, usual):
            raise ConfigError(f"{group}={chosen}: is for a sweep; put -m first, or leave it out")


def _readable(arguments: list[str]) -> list[str]:
    """The same with -m in front, where Hydra needs it. Raises ConfigError for an unknown option."""
    several = [each for each in arguments if each in ("-m", "--multirun")]
    arguments = several + [each for each in arguments if each not in several]
    parser = get_args_parser()
    parser.exit_on_error = False
    try:
        unknown = parser.parse_known_args(arguments)[1]
    except ArgumentError as error:
        raise ConfigError(f"{error}; see --help") from None
    keyless = [each for each in arguments if each.startswith("=")]
    if keyless:
        raise ConfigError(f"'{keyless[0]}' cannot be read: write key=value")
    if unknown:
        option = unknown[0]
        setting = option.lstrip("-")
        if setting.split("=")[0].split(".")[0] in get_type_hints(Config):
            setting = setting if "=" in setting else f"{setting}=VALUE"
            raise ConfigError(f"{option}: settings have no dashes; write {setting}")
        raise ConfigError(f"{option}: no such option; see --help")
    return arguments


def _job(raw: DictConfig, own: HydraConf, *, quiet: bool = False) -> Result:
    for group in STARTING:
        if group not in raw:
            raise ConfigError(f"{group} is missing: no key can be left out")
    for group, choice in own.runtime.choices.items():
        if not isinstance(choice, str | None):
            raise ConfigError(f"{group}={choice}: choose one, or put -m first to run several")
    for group in filter(choices, map(str, raw)):
        if group not in own.runtime.choices:  # Hydra merges the choices of a list
            raise ConfigError(f"{group}=[...]: choose one, or put -m first to run several")
    if own.job.chdir:
        raise ConfigError("hydra.job.chdir=true: would move outputs=; leave it out")
    if (size := own.sweeper.get("max_batch_size")) is not None:
        raise ConfigError(
            f"hydra.sweeper.max_batch_size={size}: one failed job would end the sweep; leave it out"
        )
    config = load(raw)
    with to_stay("posenc.run"):
        from posenc.run import train  # imports torch, which a bad command need not wait for

    try:
        return train(config, list(own.overrides.task), quiet=quiet)
    except (*MENDABLE, OSError):
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
