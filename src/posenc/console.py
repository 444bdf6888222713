"""Standard output as it comes: of any encoding, and perhaps closed by whoever reads it."""

import argparse
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from posenc.errors import ConfigError


class Parser(argparse.ArgumentParser):
    """Raises ConfigError, which is one line, where its parent would print how it is used first."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message.removeprefix('argument ')}; see --help")


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Inside, Ctrl-C ends the program with status 130 and no traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def forgiving_output() -> Iterator[None]:
    """Inside, what an encoding lacks is printed as ?, and output that is lost ends the program.

    It ends with status 1: with no message where a reader left, as under `| head -1` nobody reads
    on, and with one line where a file took no more.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    lost: OSError | None = None
    try:
        try:
            yield
        finally:
            lost = _unprinted()
    except BrokenPipeError as error:
        lost = error
    except OSError:
        if lost is None:
            raise
    except SystemExit as end:
        if lost is None or end.code:
            raise
    if lost is not None:
        if not isinstance(lost, BrokenPipeError):
            print(f"error: standard output: {lost}; what was computed is kept", file=sys.stderr)
        sys.exit(1)


def _unprinted() -> OSError | None:
    """Why not all that was printed came out, if so."""
    try:
        print(end="", flush=True)
    except OSError as error:
        if isinstance(sys.stdout, io.TextIOWrapper):  # what waits in it would fail again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None
