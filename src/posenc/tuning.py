"""A study of Optuna: what it is to look for, what it has found, and that its trials are alike.

A study keeps what it searches and the settings that all of its trials share. A command in which
one of these differs is refused, or it would take trials of other settings for its own.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import DictConfig, OmegaConf

from posenc.choosing import STARTING, popped
from posenc.errors import ConfigError, check_choice
from posenc.results.identity import Flat, asked
from posenc.results.outcome import LESS_IS_BETTER, OBJECTIVES
from posenc.telling import short

SQLITE = "sqlite:///"
KEPT = "posenc"
"""The attribute of a study that holds its terms."""
ABSENT = object()


class Terms(NamedTuple):
    """What all trials of a study have in common."""

    searched: dict[str, str]
    """Key -> what it is searched in."""
    fixed: Flat
    """The other settings that shape weights or rows, and the objectives."""

    def value(self, key: str) -> Any:
        """Of a group that is not searched, its choice; ABSENT where there is no such key."""
        if key in self.searched:
            return self.searched[key]
        return self.fixed.get(key, self.fixed.get(f"{key}.name", ABSENT))


def begin_study(config: DictConfig) -> int:
    """Makes the study of a sweep, or continues it; returns how many trials it lacks.

    Raises ConfigError where there is nothing to tune, where a key of the sweeper cannot work, and
    where the study was begun on other terms.
    """
    own = popped("sweeper", {"sweeper": OmegaConf.to_container(config.sweeper, resolve=True)})
    study, storage = own["study"], own["storage"]
    if not study.strip():
        raise ConfigError("sweeper.study=: is empty; give the study a name")
    terms = _terms(config)
    wanted = directions(
        config.sweeper.objectives, config.length.train, config.length.test, config.eval.lengths
    )
    _keep(study, storage, terms, [wanted] if isinstance(wanted, str) else wanted)
    return trials_left(own["trials"], study, storage)


def _terms(config: DictConfig) -> Terms:
    """Raises ConfigError where nothing is searched, or where the study is named after it."""
    parser = OverridesParser.create()
    params = config.hydra.sweeper.params or {}
    own = parser.parse_overrides([f"{key}={values}" for key, values in params.items()])
    given = [*own, *parser.parse_overrides(list(config.hydra.overrides.task))]
    chosen = {each.get_key_element() for each in given if not each.is_sweep_override()}
    searched = {
        key: _spelled(each)
        for each in given
        if each.is_sweep_override() and (key := each.get_key_element()) not in chosen
    }
    if not searched:
        raise ConfigError(
            "sweeper=optuna: nothing to tune; give an interval or a list of values, such as "
            "'optimizer.lr=tag(log,interval(0.0001,0.01))'"
        )
    named_after = cast(Any, OmegaConf.to_container(config.sweeper))["study"]
    for key, values in searched.items():
        if re.search(rf"\${{{re.escape(key)}\b", named_after):
            raise ConfigError(
                f"{key}={values}: the study is named after its {key}; run a command for each, or "
                "name one for all, sweeper.study=NAME"
            )
    keys = [str(key) for key in config if key not in ("hydra", *STARTING)]
    settings = cast(Any, OmegaConf.to_container(OmegaConf.masked_copy(config, keys), resolve=True))
    fixed = asked(settings, {}) | {"seed": settings["seed"]}
    fixed |= {each.get_key_element(): each.value() for each in own if not each.is_sweep_override()}
    fixed = {
        key: value
        for key, value in fixed.items()
        if not any(f"{key}.".startswith(f"{each}.") for each in searched)
    }
    return Terms(searched, fixed | {"sweeper.objectives": list(config.sweeper.objectives)})


def _spelled(override: Override) -> str:
    """The same however many blanks there were."""
    values = override.value()
    if not isinstance(values, IntervalSweep):
        return ",".join(override.sweep_string_iterator())
    interval = f"interval({values.start},{values.end})"
    return f"tag({','.join(sorted(values.tags))},{interval})" if values.tags else interval


def _keep(name: str, storage: str, terms: Terms, wanted: list[str]) -> None:
    """Makes the study, or refuses one that was begun on other terms."""
    import optuna

    study = _study(name, storage)
    if study is None:
        study = optuna.create_study(study_name=name, storage=storage, directions=wanted)
    elsewhere = "name another study, sweeper.study=NAME"
    kept = study.user_attrs.get(KEPT)
    if kept is not None:
        before = Terms(**kept)
        for key in {**before.searched, **terms.searched, **terms.fixed}:
            was, now = before.value(key), terms.value(key)
            known = ABSENT not in (was, now) or key in {*before.searched, *terms.searched}
            if known and was != now:
                raise ConfigError(
                    f"{_told(key, now)}: study {name} was begun with {_told(key, was)}; {elsewhere}"
                )
    found = [each.name.lower() for each in study.directions]
    if found != wanted:  # of a study that was made without terms
        given = _told("sweeper.objectives", terms.value("sweeper.objectives"))
        raise ConfigError(f"{given}: study {name} is to {' and '.join(found)}; {elsewhere}")
    if kept is None and study.trials:
        print(
            f"study {name} is of a version that kept no settings: "
            "that its trials had those of this command is not checked",
            file=sys.stderr,
        )
    elif kept is None:
        study.set_user_attr(KEPT, terms._asdict())


def _told(key: str, value: Any) -> str:
    if value is ABSENT:
        return f"no {key}"
    spelled = f"[{','.join(map(str, value))}]" if isinstance(value, list) else value
    return f"{key}={spelled}"


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


def trials_left(trials: int, study: str, storage: str) -> int:
    """How many a study still lacks."""
    found = _study(study, storage)
    done = sum(trial.state.name == "COMPLETE" for trial in found.trials) if found else 0
    return max(0, trials - done)


def sampler_seed(seed: int, study: str, storage: str) -> int:
    """Another one whenever a study is continued, or it would propose the same trials again."""
    found = _study(study, storage)
    return (seed * 1_000_003 + len(found.trials if found else [])) % 2**32


def best(study: str, storage: str, objectives: Sequence[str]) -> list[str]:
    """A line for each trial of a study that no other beats."""
    found, lines = _study(study, storage), []
    for trial in found.best_trials if found else []:
        settings = short(" ".join(f"{key}={value}" for key, value in trial.params.items()))
        values = zip(objectives, trial.values, strict=True)
        reached = ", ".join(f"{name} {value:.4g}" for name, value in values)
        lines.append(f"best of study {study}: {settings}: {reached}")
    return lines


def _study(name: str, storage: str) -> Any:
    """A study, or None if there is none; makes room for its storage where that is a file."""
    if storage.startswith(SQLITE):
        Path(storage.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        return None
    except Exception as error:  # of the database, which has many kinds
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"sweeper.storage={storage}: {reason}; name a database, such as sqlite:///PATH"
        ) from None
