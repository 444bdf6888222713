"""Files of problems: which file a configuration means, and what each of its lines asks.

Nothing here imports torch: a configuration names a file before any task is built.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from posenc.errors import ConfigError

SPACE = "␣"
"""What stands for white space where it is a token of its own."""


def _characters(text: str) -> list[str]:
    return [SPACE if character.isspace() else character for character in text]


SPLITS: dict[str, Callable[[str], list[str]]] = {"words": str.split, "characters": _characters}
"""How a plain string is cut into tokens: at white space, or everywhere."""


class Problem(NamedTuple):
    """The tokens of a prompt and of its answer, by name."""

    prompt: tuple[str, ...]
    answer: tuple[str, ...]


def pinned(task: dict[str, Any]) -> dict[str, Any]:
    """The settings of a task with its file, if any, by its whole name and by what it holds.

    Relative names start from the current folder. Raises ConfigError where there is no such file,
    and where it does not hold what the settings were written for.
    """
    if task.get("path") is None:
        return task
    for key in ("path", "digest"):
        if not isinstance(task[key], str | None):
            raise ConfigError(f"task.{key}={task[key]}: must be text; quote what looks otherwise")
    path = Path(task["path"]).expanduser().resolve()
    found = digest(path)
    if task["digest"] not in (None, found):
        raise ConfigError(
            f"task.path={path}: the file has changed; it was {task['digest']} and is {found}, so "
            "restore it, or train on it as it is now: train.py with task.digest=null"
        )
    return task | {"path": str(path), "digest": found}


def digest(path: Path) -> str:
    """Sixteen hexadecimal digits that differ wherever files do.

    Raises ConfigError where it cannot be read.
    """
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    except OSError as error:
        raise ConfigError(f"task.path={path}: {error.strerror}; name a file of problems") from None


def read(path: Path, split: str) -> list[Problem]:
    """The problems of a file, one JSON object with `prompt` and `answer` in a line, each once.

    Each of the two is a list of tokens or a string, which is `split`. Raises ConfigError, naming
    the line, where one holds anything else, and where two lines answer one prompt differently.
    """
    first: dict[tuple[str, ...], tuple[int, Problem]] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"task.path={path}: {error}; name a text file in UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            problem = _problem(line, SPLITS[split])
            earlier, known = first.setdefault(problem.prompt, (number, problem))
            if known != problem:
                raise ValueError(f"its prompt is that of line {earlier}, its answer another")
        except ValueError as error:
            raise ConfigError(f"task.path={path}: line {number}: {error}") from None
    if not first:
        raise ConfigError(f"task.path={path}: holds no problem")
    return [problem for _, problem in first.values()]


def _problem(line: str, split: Callable[[str], list[str]]) -> Problem:
    """Raises ValueError, saying what is wrong, unless the line holds a problem."""
    example = '{"prompt": ["b", "a"], "answer": "a b"}'
    try:
        found = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error}); write {example}") from None
    if not isinstance(found, dict) or set(found) != {"prompt", "answer"}:
        raise ValueError(f"must have the keys prompt and answer and no other, as in {example}")
    return Problem(*(_tokens(key, found[key], split) for key in ("prompt", "answer")))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands in it twice")
    return dict(pairs)


def _tokens(key: str, value: object, split: Callable[[str], list[str]]) -> tuple[str, ...]:
    if isinstance(value, str):
        value = split(value)
    if not isinstance(value, list) or not value:
        raise ValueError(f"{key}={value!r}: must be a string or a list of tokens, and not empty")
    for token in value:
        whole = isinstance(token, str | int) and not isinstance(token, bool)
        if not whole or len(str(token).split()) != 1:
            raise ValueError(f"{key}: {token!r} must be a whole number, or text without a space")
        if not str(token).isprintable():
            raise ValueError(f"{key}: {token!r} cannot be printed")
        if token == "?":
            raise ValueError(f"{key}: '?' stands for the place of an answer; write it otherwise")
    return tuple(map(str, value))
