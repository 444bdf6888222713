"""In which settings the configurations of one name differ."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from posenc.results.records import Settings, fingerprint, shaping

Variants = Mapping[str, str]
"""Fingerprint -> the settings that tell it from others of its name: `key=value, key=value`.

A fingerprint that is missing has to stand for itself.
"""


def variants(folders: Iterable[Path]) -> Variants:
    """Compares the config.yaml of all runs of one task, model, encoding, positions and train_max.

    What has no rival is not in it, nor is a configuration that cannot be read or that was changed
    after the run.
    """
    rivals: dict[Any, dict[str, Settings]] = defaultdict(dict)
    for folder in folders:
        try:
            settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
            own, flat = fingerprint(settings), _flat(shaping(settings))
        except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError):
            continue
        name = [flat.get(f"{group}.name") for group in ("task", "model", "encoding", "positions")]
        if folder.name.endswith(f"-{own}"):
            rivals[*name, flat.get("length.train")][own] = flat
    return {own: words for group in rivals.values() for own, words in _differences(group).items()}


def _differences(group: dict[str, Settings]) -> Variants:
    keys = {key: None for flat in group.values() for key in flat}  # a dict keeps their order
    differing = [key for key in keys if len({_word(flat.get(key)) for flat in group.values()}) > 1]
    return {
        own: ", ".join(f"{key}={_word(flat.get(key))}" for key in differing)
        for own, flat in group.items()
        if differing
    }


def _flat(settings: Settings, prefix: str = "") -> Settings:
    flat: Settings = {}
    for key, value in settings.items():
        flat |= (
            _flat(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else {f"{prefix}{key}": value}
        )
    return flat


def _word(value: Any) -> str:
    """As it is written on a command line."""
    return value if isinstance(value, str) else json.dumps(value)
