"""What an error of Hydra means, in one line, with the remedy that is right for this program."""

import re
import sys
from dataclasses import is_dataclass
from typing import Any, cast, get_type_hints

from hydra.core.config_store import ConfigStore
from hydra.errors import OverrideParseException

from posenc.choosing import STARTING, choices, defaults_of
from posenc.errors import one_of, suggestion
from posenc.schema import expected
from posenc.settings import Config

REMEDIES = {
    r"ConfigError raised while resolving interpolation: (.*?)(?: full_key: .*)?$": "{0}",
    r"(?:Ambiguous value for argument|Sweep parameters) '(.*?)'": (
        "{} names several values: put -m first to run them all, or choose one"
    ),
    r"Could not append .* prefix: '(.*?)'": "+{0}: the key is there already; write {0}",
    r"Multiple values for (\S+)\. .*: (.*)'": "+{0}={1}: {0} has a choice; write {0}={1}",
    r"Could not delete ''": "'~' cannot be read: write key=value",
    r"Could not delete .*?'([^'=]+)": "~{0}: no key can be left out; write {0}=VALUE",
    r"You must specify '(.*?)'": "{0}=???: names no choice; write {0}=CHOICE",
    r"Override (\S+) looks like a config group": "'{}' cannot be read: write key=value",
    r"Cannot find primary config '(.*?)'": "--config-name={}: there is no other; leave it out",
    r"Additional config directory '(.*?)'": "--config-dir={}: there is no such folder",
    r"Primary config directory not found.*?'(.*?)'": "--config-path={}: leave it out",
}
"""What Hydra says -> what is said instead."""

EXTRAS = {
    "joblib": "sweep", "ray": "cluster", "submitit_slurm": "cluster", "submitit_local": "cluster",
    "optuna": "tune",
}  # fmt: skip
"""Launchers and sweepers of Hydra -> the extra that installs them."""

OWN_NAMES = {"slurm": "submitit_slurm", "slurm_local": "submitit_local"}
"""Launchers of configs/ -> those of Hydra, where these are called otherwise."""


def explain(error: Exception) -> str:
    """The message of any error that a user can mend, in one line."""
    if isinstance(error, OverrideParseException):
        return _unreadable(error.override)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = " ".join(lines)
    for pattern, remedy in REMEDIES.items():
        if match := re.match(pattern, said):
            return remedy.format(*match.groups())
    if match := re.match(r"Error merging override (\+*([^=]+)=.*)", said):
        cause = str(error.__cause__).splitlines()[0]
        return f"{match[1]}: {cause if _is_hydra(match[2]) else expected(match[2])}"
    if match := re.match(r"Could not override '([^']*)'", said):
        within = str(getattr(error.__cause__, "full_key", ""))  # of model={foo:5} it is model.foo
        return _unknown(within if within.startswith(f"{match[1]}.") else match[1])
    if match := re.search(r"Could not find '([^']*)'", said):
        group, _, name = match[1].rpartition("/")
        if name in EXTRAS:
            return _lacking(group.removeprefix("hydra/"), name)
        available = re.findall(r"^\t(\w+)$", str(error), re.MULTILINE)
        return f"{group}={name}: {one_of(available, name)}"
    if said.startswith("Config group override must be") or isinstance(error, AssertionError):
        return _unusable(sys.argv[1:])
    return said


def _lacking(group: str, name: str) -> str:
    """What brings a launcher or sweeper, and the other one if the command names it and lacks it."""
    given = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
    lacking = {group: name}
    for other in STARTING:
        wanted = OWN_NAMES.get(given.get(other, ""), given.get(other, ""))
        stored = ConfigStore.instance().repo["hydra"][other]
        if wanted in EXTRAS and f"{wanted}.yaml" not in stored:
            lacking[other] = wanted
    named = {hydras: own for own, hydras in OWN_NAMES.items()}
    told = " ".join(f"{key}={named.get(each, each)}" for key, each in lacking.items())
    extras = ",".join(dict.fromkeys(EXTRAS[each] for each in lacking.values()))
    brings = "brings it" if len(lacking) == 1 else "brings both"
    return f"{told}: pip install -c constraints.txt -e '.[{extras}]' {brings}"


def _unknown_start(group: str, key: str) -> str:
    """A key of launchers or sweepers may be one of another choice."""
    known = {name: defaults_of(group, name)[group] for name in choices(group)}
    part = key.removeprefix(f"{group}.")
    having = [name for name, keys in known.items() if part in keys]
    if having:
        return f"{key}: needs {group}={' or '.join(having)}"
    remedy = suggestion(part, dict.fromkeys(each for keys in known.values() for each in keys))
    return f"{key}: no such key; {remedy}"


def _unreadable(argument: str) -> str:
    simple = re.fullmatch(r"([a-z_./]+)=([^='\"[{]+)", argument)
    quoted = f"; quote special characters: \"{simple[1]}='{simple[2]}'\"" if simple else ""
    return f"'{argument}' cannot be read: write key=value{quoted}"


def _unusable(arguments: list[str]) -> str:
    """Hydra does not say which argument it is: a group without a choice, or its own settings."""
    given = [argument.partition("=") for argument in arguments]
    wrong = [(key, value) for key, _, value in given if key and value not in choices(key) != []]
    if wrong:
        return "; ".join(f"{key}={value}: {one_of(choices(key), value)}" for key, value in wrong)
    own = " ".join(argument for argument in arguments if _is_hydra(argument))
    if not own:
        return f"'{' '.join(arguments)}' cannot be read: write key=value"
    return f"{own}: Hydra cannot use this value; leave it out"


def _is_hydra(key: str) -> bool:
    return key.startswith("hydra")


def _unknown(key: str) -> str:
    """Names the keys known in place of the first unknown part of a dotted key.

    Of the settings of a chosen class none are known here.
    """
    if _is_hydra(key):
        return f"{key}: no such key; see --cfg hydra"
    group = key.partition(".")[0]
    if group in STARTING:
        return _unknown_start(group, key)
    part, known, schema = "", list[str](), cast(Any, Config)
    for part in key.split("."):
        known = list(get_type_hints(schema)) if is_dataclass(schema) else []
        if part not in known:
            break
        schema = get_type_hints(schema)[part]
    return f"{key}: no such key; {suggestion(part, known)}"
