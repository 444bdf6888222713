"""The command line of train.py: Hydra, with one clear line for whatever a user got wrong."""

import os
import re
import sys
from typing import NoReturn

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from posenc import sweep
from posenc.errors import ConfigError, RunFailed
from posenc.schema import CONFIGS, PROJECT, choices, load, siblings, suggestion

OmegaConf.register_new_resolver("posenc_project", lambda name: str(PROJECT / name))


def main() -> None:
    """Exit codes: 0 done, 1 a run failed, 2 a bad command, 130 and 143 stopped by a signal."""
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors arrive here whole, to be put in words
    try:
        _hydra_main()
    except Exception as error:
        sweep.summarise()
        _exit(error)
    sweep.summarise()


@hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name="train")
def _hydra_main(raw: DictConfig) -> float:
    try:
        config = load(raw)
        from posenc.run import train  # imports torch, which a bad command need not wait for

        return train(config)
    except Exception as error:
        if HydraConfig.get().mode == RunMode.RUN:
            _exit(error)
        raise  # a failed job of a sweep, which goes on with the next


def _exit(error: Exception) -> NoReturn:
    """Says what went wrong in one line and leaves; an error of unknown kind keeps its traceback."""
    if isinstance(error, RunFailed):
        sys.exit(f"error: {error}")  # status 1
    known = (ConfigError, HydraException, OmegaConfBaseException, ValueError)
    if not isinstance(error, known) or os.environ["HYDRA_FULL_ERROR"] == "2":
        raise error
    print(f"error: {explain(str(error))}", file=sys.stderr)
    sys.exit(2)


def explain(message: str) -> str:
    """Hydra's own messages in one line, with the remedy that is right for this program."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if match := re.match(r"Could not override '([^']*)'", lines[0]):
        return f"{match[1]}: no such key; {suggestion(match[1], siblings(match[1]))}"
    if match := re.match(r"Ambiguous value for argument '([^']*)'", lines[0]):
        return f"{match[1]} names several values: put -m first to run them all, or choose one"
    if match := re.search(r"Could not find '([^']*)'", lines[0]):
        group, _, name = match[1].rpartition("/")
        return f"{group}={name}: choose one of {', '.join(choices(group))}"
    return " ".join(lines)
