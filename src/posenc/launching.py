"""What launchers and sweepers ask of this machine, and what of a command they refuse."""

import math
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, ListConfig, OmegaConf

from posenc import tuning
from posenc.choosing import popped
from posenc.errors import ConfigError
from posenc.results.outcome import Result


def cores(jobs: Any) -> int:
    """Of the CPU cores that this process may use, the share of one of several jobs at a time.

    What is no number of jobs is refused elsewhere, by its own key.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 1) // max(1, jobs if isinstance(jobs, int) else 1))


def check_launcher(launcher: DictConfig) -> None:
    """Raises ConfigError where it cannot do what is asked of it, or not on this machine."""
    own = popped("launcher", {"launcher": OmegaConf.to_container(launcher, resolve=True)})
    if own["name"] == "serial" and own["jobs"] > 1:
        raise ConfigError(
            f"launcher.jobs={own['jobs']}: needs launcher=joblib, or another that does several at "
            "a time; launcher=serial does one"
        )
    if own["name"] == "slurm" and shutil.which("srun") is None:
        raise ConfigError(
            "launcher=slurm: there is no Slurm on this machine (no srun); "
            "launcher=slurm_local tries it out without"
        )


def check_listed(overrides: Iterable[Override]) -> None:
    """Raises ConfigError where one stands for endlessly many values."""
    for each in overrides:
        if each.is_sweep_override() and not each.is_discrete_sweep():
            raise ConfigError(
                f"{each.input_line}: an interval needs sweeper=optuna; without, list values"
            )


def check_grids(grids: Any) -> None:
    """Raises ConfigError unless these are the grids of a sweep, one at least."""
    told: Any = OmegaConf.to_container(grids) if isinstance(grids, ListConfig) else grids
    whole = isinstance(told, list) and told and all(isinstance(grid, dict) for grid in told)
    if not whole or any(isinstance(each, dict | list) for grid in told for each in grid.values()):
        raise ConfigError(
            f"sweeper.grids={told}: must be a list of mappings with texts as values, such as "
            "[{encoding:'none,rope'},{positions:random}]"
        )


def returned(result: Result, objectives: Sequence[str]) -> float | list[float]:
    """What a sweeper gets of a run; nan stands for what was not tested."""
    values = [getattr(result, each) for each in objectives]
    found = [math.nan if value is None else float(value) for value in values]
    return found[0] if len(found) == 1 else found


def register_resolvers() -> None:
    """Makes known to the yaml what it asks."""
    OmegaConf.register_new_resolver("posenc_cores", cores)
    OmegaConf.register_new_resolver("posenc_directions", tuning.directions)
    OmegaConf.register_new_resolver("posenc_trials_left", tuning.trials_left)
    OmegaConf.register_new_resolver("posenc_sampler_seed", tuning.sampler_seed)
