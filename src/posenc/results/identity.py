"""What a run is called, and which settings make it another one.

A run is named after what changes its trained weights; an evaluation of it after what is asked of
them.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]
Flat = dict[str, Any]
"""The same without groups: `group.key` -> value."""

EVALUATION_KEYS = ("eval", "length.test", "positions.at_eval", "positions.draws")
"""Keys that change what is asked of a trained network, not the network."""

PROBE_KEYS = ("eval.probe_every", "eval.probe_lengths", "eval.probe_samples")
"""Those of them that belong to the looks that are taken during training."""

NEUTRAL_KEYS = (
    "logger", "threads", "outputs", "overwrite", "checkpoint", "data.workers",
    "trainer.log_every_n_steps", "trainer.enable_progress_bar", "trainer.devices",
    "trainer.compile", "task.path",
)  # fmt: skip
"""Keys that change neither the trained weights nor the rows."""


def _without(settings: Settings, keys: tuple[str, ...], prefix: str = "") -> Settings:
    return {
        key: _without(value, keys, f"{prefix}{key}.") if isinstance(value, dict) else value
        for key, value in settings.items()
        if f"{prefix}{key}" not in keys
    }


def flat(settings: Settings, prefix: str = "") -> Flat:
    """Nested settings as `group.key: value`, in their order."""
    found: Flat = {}
    for key, value in settings.items():
        below = isinstance(value, dict)
        found |= flat(value, f"{prefix}{key}.") if below else {f"{prefix}{key}": value}
    return found


def unrolled(settings: Flat) -> Flat:
    """The same with `encoding.parts.0.name` in place of a list of several settings."""
    found: Flat = {}
    for key, value in settings.items():
        several = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        parts = {str(number): each for number, each in enumerate(value)} if several else {}
        found |= flat(parts, f"{key}.") if parts else {key: value}
    return found


def _digest(settings: Mapping[str, Any]) -> str:
    text = json.dumps(settings, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def shaping(settings: Settings) -> Settings:
    """Those that change the trained weights, the seed apart."""
    return _without(settings, (*EVALUATION_KEYS, *NEUTRAL_KEYS, "seed"))


def fingerprint(settings: Settings) -> str:
    """Eight hexadecimal digits that differ wherever the trained weights may, the seed apart.

    So the runs of one configuration share it, and what shares it may be averaged over seeds.
    """
    return _digest(shaping(settings))


def asked(settings: Settings, trained: Flat | None = None) -> Flat:
    """Those that change what is asked of trained weights.

    With them go the ones in which `settings` differ from `trained`, the `flat` `shaping` ones that
    the network was trained with, such as a factor or a longer table that a later evaluation tries.
    """
    own = flat(_without(settings, (*PROBE_KEYS, *NEUTRAL_KEYS)))
    known = flat(shaping(settings)) if trained is None else trained
    return {
        key: value
        for key, value in own.items()
        if key != "seed" and (key not in known or known[key] != value)
    }


def evaluation_hash(asked: Flat) -> str:
    """Eight hexadecimal digits that differ wherever the evaluation of one network may."""
    return _digest(asked)


def identity(settings: Settings) -> Settings:
    """The columns of a row that say which run it belongs to."""
    names = {group: settings[group]["name"] for group in ("task", "model", "positions")}
    return {
        **names,
        "encoding": _called(settings["encoding"]),
        "seed": settings["seed"],
        "fingerprint": fingerprint(settings),
    }


def _called(node: Any) -> str:
    """Its name or, as several encodings together have none of their own, those of its parts:
    tupe+t5, and learned@abacus+rope, where a part has positions of its own."""
    if not isinstance(node, dict):  # by name alone
        return str(node)
    if parts := node.get("parts"):
        return "+".join(map(_called, parts))
    own = node.get("positions")
    return f"{node['name']}@{_called(own)}" if own else str(node["name"])


def leaf(settings: Settings) -> str:
    """The name of the run folder itself, which stays with it wherever it is moved."""
    return f"seed{settings['seed']}-{fingerprint(settings)}"
