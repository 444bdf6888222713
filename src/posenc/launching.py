"""What the yaml of launchers and sweepers ask of this machine and of a study."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from posenc.errors import ConfigError, check_choice
from posenc.results.outcome import LESS_IS_BETTER, OBJECTIVES, Result
from posenc.telling import short

SQLITE = "sqlite:///"


def cores(jobs: int) -> int:
    """Of the CPU cores that this process may use, the share of one of several jobs at a time."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 1) // max(1, jobs))


def check_grids(grids: Any) -> None:
    """Raises ConfigError unless these are the grids of a sweep, one at least."""
    whole = isinstance(grids, ListConfig) and grids
    if not whole or not all(isinstance(grid, DictConfig) for grid in grids):
        told = OmegaConf.to_container(grids) if isinstance(grids, ListConfig) else grids
        raise ConfigError(
            f"sweeper.grids={told}: must be a list of mappings, such as "
            "[{encoding:'none,rope'},{positions:random}]"
        )


def directions(
    objectives: Sequence[str], trained: int, tested: int, lengths: Sequence[int] | None
) -> str | list[str]:
    """As Optuna names them: one, or one for each of several objectives.

    Raises ConfigError where an objective is none, or has no value of lengths up to `tested`.
    """
    if not objectives:
        raise ConfigError(f"sweeper.objectives=[]: name one or more of {', '.join(OBJECTIVES)}")
    for name in objectives:
        check_choice("sweeper.objectives", name, OBJECTIVES)
    if "score" in objectives and max(lengths or [tested]) <= trained:
        raise ConfigError(
            f"length.test={tested} eval.lengths={lengths and list(lengths)}: the score is that of "
            f"lengths beyond length.train={trained}; test longer ones, or set "
            "sweeper.objectives=[in_range]"
        )
    found = ["minimize" if name in LESS_IS_BETTER else "maximize" for name in objectives]
    return found[0] if len(found) == 1 else found


def returned(result: Result, objectives: Sequence[str]) -> float | list[float]:
    """What a sweeper gets of a run; nan stands for what was not tested."""
    values = [getattr(result, each) for each in objectives]
    found = [math.nan if value is None else float(value) for value in values]
    return found[0] if len(found) == 1 else found


def trials_left(trials: int, study: str, storage: str) -> int:
    """How many a study still lacks. Raises ConfigError where none is asked for."""
    if trials < 1:
        raise ConfigError(f"sweeper.trials={trials}: must be a whole number from 1 on")
    done = sum(trial.state.name == "COMPLETE" for trial in _trials(study, storage))
    return max(0, trials - done)


def sampler_seed(seed: int, study: str, storage: str) -> int:
    """Another one whenever a study is continued, or it would propose the same trials again."""
    return (seed * 1_000_003 + len(_trials(study, storage))) % 2**32


def best(study: str, storage: str, objectives: Sequence[str]) -> list[str]:
    """A line for each trial of a study that no other beats."""
    lines = []
    for trial in _trials(study, storage, "best_trials"):
        settings = short(" ".join(f"{key}={value}" for key, value in trial.params.items()))
        values = zip(objectives, trial.values, strict=True)
        reached = ", ".join(f"{name} {value:.4g}" for name, value in values)
        lines.append(f"best of study {study}: {settings}: {reached}")
    return lines


def _trials(study: str, storage: str, which: str = "trials") -> list[Any]:
    """Of a study, if there is one; makes room for its storage where that is a file."""
    if storage.startswith(SQLITE):
        Path(storage.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return list(getattr(optuna.load_study(study_name=study, storage=storage), which))
    except KeyError:
        return []


def register_resolvers() -> None:
    """Makes these functions known to the yaml."""
    OmegaConf.register_new_resolver("posenc_cores", cores)
    OmegaConf.register_new_resolver("posenc_directions", directions)
    OmegaConf.register_new_resolver("posenc_trials_left", trials_left)
    OmegaConf.register_new_resolver("posenc_sampler_seed", sampler_seed)
