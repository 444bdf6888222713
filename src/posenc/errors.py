"""What can go wrong, and how a message words the remedy.

A command that cannot work, a run that broke, a signal that stopped it.
"""

import difflib
from collections.abc import Iterable


class ConfigError(ValueError):
    """A setting that cannot work. The message names the key, its value and what would be right."""


class RunFailed(RuntimeError):
    """A run that broke after it had begun. Its folder holds the traceback."""


class Interrupted(SystemExit):
    """A run stopped by a signal, after it had saved what it had; exits with 128 + the signal."""


def one_of(names: Iterable[str]) -> str:
    """The remedy for a wrong choice."""
    return f"choose one of {', '.join(names)}"


def suggestion(key: str, known: Iterable[str]) -> str:
    """A remedy for an unknown key: the known one that it resembles, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(key.lower(), known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"the keys are {', '.join(known)}" if known else "see the yaml of the choice in configs/"
