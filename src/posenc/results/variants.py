"""The settings behind runs, and in which of them runs differ."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from posenc.results.identity import Settings, fingerprint, flat, shaping

Variants = Mapping[str, Settings]
"""Fingerprint -> the settings that shaped the weights, as `group.key: value`."""


def variants(folders: Iterable[Path]) -> Variants:
    """What the config.yaml of each run says.

    A configuration that cannot be read, or that was changed after the run, is not in it.
    """
    found = {}
    for folder in folders:
        try:
            settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
            own, shaped = fingerprint(settings), flat(shaping(settings))
        except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError):
            continue
        if folder.name.endswith(f"-{own}"):
            found[own] = shaped
    return found


def differences(variants: Variants, fingerprints: Iterable[str]) -> dict[str, dict[str, str]]:
    """Key -> fingerprint -> value, as on a command line, for every key in which these differ.

    A fingerprint without settings is in none of them.
    """
    known = {own: variants[own] for own in fingerprints if own in variants}
    keys = {key: None for own in known.values() for key in own}  # a dict keeps their order
    values = {key: {own: _word(each.get(key)) for own, each in known.items()} for key in keys}
    return {key: words for key, words in values.items() if len(set(words.values())) > 1}


def _word(value: Any) -> str:
    """As it is written on a command line; of encodings in a list, names and positions alone."""
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "[" + ",".join(_part(part) for part in value) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _part(part: Mapping[str, Any]) -> str:
    own = part.get("positions")
    return f"{part['name']}" + (f" on {own['name']}" if own else "")
