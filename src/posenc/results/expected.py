"""What a study expects of its runs, written down beforehand: the file of its claims, read."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from posenc.choosing import choices, defaults_of
from posenc.errors import ConfigError, check_choice
from posenc.results.comparing import ALL, GATED, View
from posenc.results.statements import Statement

EXPECTED = "expected.yaml"
"""Holds the claims, and makes a folder of experiments that of a study."""
RUNS = {"fitted": GATED, "all": ALL}
"""Whose runs a claim is about: those that learned the trained lengths, or all of them."""
NEEDED = ("says", "holds", "task", "model")


class Claim(NamedTuple):
    """A statement about one panel, in words and as the rows decide it."""

    says: str
    statement: Statement
    task: str
    model: str
    view: View


class _Texts(yaml.BaseLoader):
    """Reads every scalar as text, and refuses a key that is there twice: one claim would go."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                told = f"{key} is there twice; of several texts write a list"
                raise yaml.constructor.ConstructorError(None, None, told, node.start_mark)
        return dict(super().construct_mapping(node, deep))


def read_claims(path: Path) -> list[Claim]:
    """Of an expected.yaml, in its order; lists of tasks and statements are claims of their own.

    An empty list claims nothing.

    Raises ConfigError, naming file and claim, for anything that is no claim.
    """
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), _Texts)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ConfigError(f"{path}: {where}{error.problem}") from None
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path}: {str(error).splitlines()[0]}") from None
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: has to be a list of claims, each with {', '.join(NEEDED)}")
    claims = []
    for number, entry in enumerate(entries, start=1):
        try:
            claims += _read(entry)
        except ValueError as error:
            raise ConfigError(f"{path}: claim {number}: {error}") from None
    return claims


def _read(entry: Any) -> list[Claim]:
    if not isinstance(entry, dict) or not set(NEEDED) <= entry.keys() <= {*NEEDED, "runs"}:
        given = f", not {', '.join(map(str, entry))}" if isinstance(entry, dict) else ""
        raise ValueError(f"takes {', '.join(NEEDED)}, and may have runs{given}")
    says, model = _word(entry, "says"), _word(entry, "model")
    check_choice("model", model, choices("model"))
    runs = _word({"runs": "fitted"} | entry, "runs")
    if runs not in RUNS:
        raise ValueError(f"runs={runs}: choose one of {', '.join(RUNS)}")
    claims = []
    for task in _words(entry, "task"):
        check_choice("task", task, choices("task"))
        for text in _words(entry, "holds"):
            try:
                statement = Statement(text)
                for label in statement.labels:
                    _check(label)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"holds={text}: {error}") from None
            claims.append(Claim(says, statement, task, model, RUNS[runs]))
    return claims


def _check(label: str) -> None:
    """Raises ConfigError where no run can be called so."""
    encoding, _, positions = label.partition(" [")[0].partition(" + ")
    parts = [part.partition("@") for part in encoding.split("+")]
    for name, _, own in parts:
        settings = defaults_of("encoding", check_choice("encoding", name, choices("encoding")))
        if "_target_" not in settings or "parts" in settings:
            raise ConfigError(f"encoding={name}: stands for others, by which results call it")
        if own:
            check_choice("positions", own, choices("positions"))
    if positions:
        check_choice("positions", positions, choices("positions"))


def _words(entry: dict[str, Any], key: str) -> list[str]:
    """One text, or a list of them. Raises ValueError for anything else."""
    found = entry[key] if isinstance(entry[key], list) else [entry[key]]
    if not found or not all(isinstance(each, str) and each for each in found):
        raise ValueError(
            f"{key}={entry[key]}: has to be a text or a list of texts, a line for each"
        )
    return found


def _word(entry: dict[str, Any], key: str) -> str:
    if not isinstance(entry[key], str) or not entry[key]:
        raise ValueError(f"{key}={entry[key]}: has to be a text")
    return str(entry[key])
