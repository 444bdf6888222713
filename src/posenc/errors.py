"""What can go wrong, how a message words the remedy, and checks of settings that many share.

A command that cannot work, a run that broke, a signal that stopped it.
"""

import difflib
import signal
import sys
from collections.abc import Collection, Iterable
from typing import TypeVar

Number = TypeVar("Number", int, float)

MANY = 12
"""Choices that no longer fit into a line."""


SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Those by which a user or a system stops a run."""


class ConfigError(ValueError):
    """A setting that cannot work. The message names the key, its value and what would be right."""


class Busy(ConfigError):
    """A run that goes on elsewhere: nothing is wrong with the command, which may have to wait."""


class RunFailed(RuntimeError):
    """A run that broke after it had begun. Its folder holds the traceback."""


class Interrupted(SystemExit):
    """A run stopped by a signal, after it had saved what it had; exits with 128 + the signal."""


class Torn(Interrupted):
    """The same in the midst of a step, whose half-changed state is not saved."""


def one_of(names: Collection[str], given: str = "") -> str:
    """The remedy for a wrong choice: all of them, or of many the one that it resembles."""
    if len(names) <= MANY:
        return f"choose one of {', '.join(names)}"
    close = difflib.get_close_matches(given.lower(), names, n=1)
    guess = f"did you mean '{close[0]}'? " if close else ""
    return f"{guess}python train.py --help lists all {len(names)} choices"


def check_choice(key: str, value: str, names: Collection[str]) -> str:
    """Returns `value`; raises ConfigError, naming the choices, if it is none of them."""
    if value not in names:
        raise ConfigError(f"{key}={value}: {one_of(names, value)}")
    return value


def at_least_one(key: str, value: Number | None, *, alone: Number, whole: bool = False) -> Number:
    """Returns `value`, or `alone` where it is None: the program fills in what is null.

    Raises ConfigError, naming the key, unless it is a number from 1 on, and a `whole` one if told.
    """
    if value is None:
        return alone
    right = type(value) is int or (type(value) is float and not whole)
    if not right or not 1 <= value <= sys.float_info.max:
        number = "a whole number" if whole else "a number"
        raise ConfigError(
            f"{key}={value}: must be {number}, at least 1, or null to take it from the lengths of "
            "the run"
        )
    return value


def suggestion(key: str, known: Iterable[str]) -> str:
    """A remedy for an unknown key: the known one that it resembles, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(key.lower(), known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"the keys are {', '.join(known)}" if known else "see the yaml of the choice in configs/"
