"""The choices of each group, as configs/ lists them, and which settings a chosen one has.

Nothing in this file imports torch, so a mistake on the command line costs no waiting.
"""

import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from posenc.errors import ConfigError, check_choice, one_of, suggestion

PROJECT = Path(__file__).resolve().parents[2]
CONFIGS = PROJECT / "configs"
if not CONFIGS.is_dir():
    raise ImportError(f"{CONFIGS} is missing: posenc runs from its checkout, so install it with -e")
PLUGINS = ("task", "encoding", "positions")
"""Groups whose keys are those of the chosen yaml and name the settings of a class."""

STARTING = ("launcher", "sweeper")
"""Groups that say how runs are started, which is no setting of any of them."""

LARGEST_SETTING = 2**24
"""Of whole numbers in all these groups; PyTorch draws from no more ids."""


def choices(group: str) -> list[str]:
    """The names that `group=` can take."""
    return sorted(file.stem for file in (CONFIGS / group).glob("*.yaml"))


def defaults_of(group: str, name: str) -> dict[str, Any]:
    """What the yaml of a choice says."""
    settings = OmegaConf.to_container(OmegaConf.load(CONFIGS / group / f"{name}.yaml"))
    assert isinstance(settings, dict)
    return {str(key): value for key, value in settings.items()}


def check_plugin(group: str, node: Any) -> None:
    """A chosen class is the one that its yaml names, and so are its keys; parts are encodings."""
    name, defaults = _chosen(group, node)
    if "_target_" not in defaults:
        raise ConfigError(f"{group}.name={name}: stands for other settings; set {group}={name}")
    target, known = node.get("_target_"), defaults["_target_"]
    if target != known:
        raise ConfigError(f"{group}._target_={target}: {name} is {known}; set {group}={name}")
    check_settings(group, node)
    if "parts" in defaults:
        if not node["parts"]:
            raise ConfigError(f"{group}.parts=[]: name encodings, such as [learned,fire]")
        node["parts"] = [_part(part) for part in node["parts"]]


def _chosen(group: str, node: Any) -> tuple[str, dict[str, Any]]:
    """The name of a choice and what its yaml says."""
    name = str(node.get("name") if isinstance(node, dict) else node)
    if not isinstance(node, dict) or name not in choices(group):
        raise ConfigError(f"{group}={name}: {one_of(choices(group), name)}")
    return name, defaults_of(group, name)


def check_settings(group: str, node: Any) -> None:
    """The keys of a choice are those of its yaml, and so are the types of their values."""
    _check_keys(group, node, _chosen(group, node)[1])


def _check_keys(group: str, node: dict[str, Any], defaults: dict[str, Any]) -> None:
    unknown = [str(key) for key in node if key not in defaults]
    if unknown:
        raise ConfigError(f"{group}.{unknown[0]}: no such key; {suggestion(unknown[0], defaults)}")
    for key, default in defaults.items():
        if node.get(key, "???") == "???":
            raise ConfigError(f"{group}.{key} is missing: no key can be left out")
        if not _same_kind(node[key], default):
            kind = type(default).__name__
            raise ConfigError(f"{group}.{key}={node[key]}: must be of type {kind}, as {default} is")
        if isinstance(node[key], int) and abs(node[key]) > LARGEST_SETTING:
            raise ConfigError(f"{group}.{key}={node[key]}: must be at most {LARGEST_SETTING}")
        if isinstance(default, float):
            node[key] = float(node[key])  # 10000 and 10000.0 are one configuration
        if default is None and isinstance(node[key], float) and node[key].is_integer():
            node[key] = int(node[key])  # and so are 20.0 and 20


def _part(given: Any) -> dict[str, Any]:
    """Name or settings of one encoding among several, completed: two spellings are one run."""
    part = {"name": given} if isinstance(given, str) else given
    if not isinstance(part, dict) or "name" not in part:
        raise ConfigError(f"encoding.parts: {given} is no encoding; name one, or {{name: ...}}")
    own = part.get("positions")
    if own is not None and not isinstance(own, dict):
        own = {"name": own}
    try:
        node = _completed("encoding", {key: part[key] for key in part if key != "positions"})
        positions = own and _completed("positions", own)
    except ConfigError as error:
        raise ConfigError(f"encoding.parts: {error}") from None
    if "parts" in node:
        raise ConfigError(f"encoding.parts: {node['name']} has parts itself; name all in one list")
    return node | {"positions": positions}


def _completed(group: str, node: dict[str, Any]) -> dict[str, Any]:
    """Settings that are not given are those of the yaml."""
    name = str(node.get("name"))
    node = (defaults_of(group, name) if name in choices(group) else {}) | node
    check_plugin(group, node)
    return node


def _same_kind(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    computed = isinstance(default, str) and default.startswith("${")
    return default is None or computed or type(value) is type(default)


def popped(group: str, plain: dict[Any, Any]) -> dict[str, Any]:
    """Takes one of STARTING out of all settings. Raises ConfigError where it is no such choice."""
    if group not in plain:  # as in the settings of a run that has been started
        return {}
    node = plain.pop(group)
    name = str(node.get("name") if isinstance(node, dict) else node)
    check_choice(group, name, choices(group))
    _check_keys(group, node, defaults_of(group, name)[group])
    for key in ("jobs", "cores", "trials"):
        if type(node.get(key, 1)) is not int or not 1 <= node.get(key, 1) <= LARGEST_SETTING:
            raise ConfigError(f"{group}.{key}={node[key]}: must be a whole number from 1 on")
    return node
