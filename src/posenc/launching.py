"""What the yaml of launchers and sweepers ask of this machine and of a study."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf

from posenc.errors import ConfigError, check_choice
from posenc.results.outcome import LESS_IS_BETTER, OBJECTIVES, Result
from posenc.telling import short

SQLITE = "sqlite:///"


def cores(jobs: int) -> int:
    """Of the CPU cores that this process may use, the share of one of several jobs at a time."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 1) // max(1, jobs))


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
    return max(0, trials - sum(_trials(study, storage)))


def sampler_seed(seed: int, study: str, storage: str) -> int:
    """Another one whenever a study is continued, or it would propose the same trials again."""
    return (seed * 1_000_003 + len(_trials(study, storage))) % 2**32


def best(study: str, storage: str, objectives: Sequence[str]) -> list[str]:
    """A line for each trial of a study that no other beats."""
    _trials(study, storage)
    import optuna

    try:
        found = optuna.load_study(study_name=study, storage=storage).best_trials
    except KeyError:
        return []
    return [
        f"best of study {study}: {short(' '.join(f'{k}={v}' for k, v in trial.params.items()))}: "
        + ", ".join(
            f"{name} {value:.4g}" for name, value in zip(objectives, trial.values, strict=True)
        )
        for trial in found
    ]


def _trials(study: str, storage: str) -> list[bool]:
    """Whether each trial of a study is complete; makes room for the storage where it is a file."""
    if storage.startswith(SQLITE):
        Path(storage.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        found = optuna.load_study(study_name=study, storage=storage).get_trials(deepcopy=False)
    except KeyError:
        return []
    return [trial.state == optuna.trial.TrialState.COMPLETE for trial in found]


def register_resolvers() -> None:
    """Makes these functions known to the yaml."""
    OmegaConf.register_new_resolver("posenc_cores", cores)
    OmegaConf.register_new_resolver("posenc_directions", directions)
    OmegaConf.register_new_resolver("posenc_trials_left", trials_left)
    OmegaConf.register_new_resolver("posenc_sampler_seed", sampler_seed)
