"""In which settings runs differ."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from posenc.results.identity import Flat

Variants = Mapping[str, Flat]
"""Fingerprint of a run, or hash of an evaluation -> the settings behind it."""


def differences(variants: Variants, hashes: Iterable[str]) -> dict[str, dict[str, str]]:
    """Key -> hash -> value, as on a command line, for every key in which these differ.

    A hash without settings is in none of them.
    """
    known = {own: variants[own] for own in hashes if own in variants}
    keys = {key: None for own in known.values() for key in own}  # a dict keeps their order
    values = {key: {own: _word(each.get(key)) for own, each in known.items()} for key in keys}
    return {key: words for key, words in values.items() if len(set(words.values())) > 1}


def told_apart(variants: Variants, own: str, rivals: Iterable[str]) -> str:
    """The settings in which one differs from its rivals, `key=value, ...`.

    Empty where it has no other rival than itself; with its hash, or that alone, where words do not
    tell it from a rival.
    """
    rivals = {own, *rivals}
    if len(rivals) == 1:
        return ""
    differing = differences(variants, rivals).items()
    told = {
        each: ", ".join(f"{key}={words[each]}" for key, words in differing if each in words)
        for each in rivals
    }
    words = told.pop(own)
    return words if words and words not in told.values() else f"{words}, {own}".removeprefix(", ")


def _word(value: Any) -> str:
    """As it is written on a command line; of encodings in a list, names and positions alone."""
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "[" + ",".join(_part(part) for part in value) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _part(part: Mapping[str, Any]) -> str:
    own = part.get("positions")
    return f"{part['name']}" + (f" on {own['name']}" if own else "")
