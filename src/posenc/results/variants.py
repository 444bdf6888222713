"""In which settings runs differ."""

import json
from collections import Counter
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


def told_apart(variants: Variants, hashes: Iterable[str]) -> dict[str, str]:
    """Hash -> the settings in which it differs from the others, `key=value, ...`.

    Empty for one alone; with the hash, or nothing else, where words do not tell it from another.
    """
    hashes = set(hashes)
    if len(hashes) == 1:
        return dict.fromkeys(hashes, "")
    differing = differences(variants, hashes).items()
    told = {
        own: ", ".join(f"{key}={words[own]}" for key, words in differing if own in words)
        for own in hashes
    }
    times = Counter(told.values())
    return {
        own: words if words and times[words] == 1 else f"{words}, {own}".removeprefix(", ")
        for own, words in told.items()
    }


def _word(value: Any) -> str:
    """As it is written on a command line; of encodings in a list, names and positions alone."""
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "[" + ",".join(_part(part) for part in value) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _part(part: Mapping[str, Any]) -> str:
    own = part.get("positions")
    return f"{part['name']}" + (f" on {own['name']}" if own else "")
