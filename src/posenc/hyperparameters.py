"""The columns of a table of runs: what tells them apart, each of one type in all of them."""

from collections.abc import Iterable
from functools import cache
from typing import Any, cast, get_type_hints

from posenc.choosing import PLUGINS, choices, defaults_of
from posenc.results.identity import Settings, flat, identity, shaping
from posenc.schema import Config

Column = bool | float | str


def hyperparameters(settings: Settings, overrides: Iterable[str]) -> dict[str, Column]:
    """What every run has, and the keys that its command line sets, such as `optimizer.lr=0.01`.

    Numbers are floats and booleans stay. A key that can be something else, such as null or a list,
    is text in all runs, as it was given. Keys that change no trained weights make no other run, and
    are left out.
    """
    run = identity(settings)
    columns: dict[str, Column] = {
        **{key: run[key] for key in ("task", "model", "encoding", "positions")},
        "seed": float(run["seed"]),
    }
    known = flat(shaping(settings))
    for override in overrides:
        key, _, given = override.lstrip("+").partition("=")
        if key in known:
            kind = _kind(key)
            columns[key] = given if kind is str else kind(known[key])
    return columns


@cache
def _kind(key: str) -> type[bool] | type[float] | type[str]:
    """That of all values that a key can have."""
    group, _, leaf = key.partition(".")
    if group in PLUGINS:
        defaults = [defaults_of(group, name) for name in choices(group)]
        kinds = {type(each[leaf]) for each in defaults if leaf in each}
    else:
        hint = cast(Any, Config)
        for part in key.split("."):
            hint = get_type_hints(hint)[part]
        kinds = {hint}
    if kinds == {bool}:
        return bool
    return float if kinds <= {int, float} else str
