"""Standard output as it comes: of any encoding, and perhaps closed by whoever reads it."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forgiving_output() -> Iterator[None]:
    """Inside, what an encoding lacks is printed as ?, and a reader that leaves ends the program.

    It ends with status 1 and no message, as under `| head -1` nobody reads on.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            yield
        finally:
            print(end="", flush=True)
    except OSError as error:
        if isinstance(sys.stdout, io.TextIOWrapper):  # what waits in it would fail again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            sys.exit(1)
        raise
