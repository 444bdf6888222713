"""Files that are there whole or not at all, and locks: what holds however a process ends."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from posenc.errors import Busy, ConfigError

UNFINISHED = ".{}.unfinished"
"""What a file is called while it is written."""

FAULTS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk fails",
    errno.EACCES: "this user may not write",
    errno.EPERM: "this user may not write",
    errno.EISDIR: "a folder is where a file belongs",
    errno.EEXIST: "a file is where a folder belongs",
    errno.ENOTDIR: "a file is where a folder belongs",
}
"""Of a disk or of who looks after it, and of no program."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields another name to write to; what is written there becomes `path`, at once and whole.

    It is on the disk by then, so that not even a crash of the machine leaves half of it. Where
    writing fails `path` stays as it was, and nothing else is left.
    """
    unfinished = path.with_name(UNFINISHED.format(path.name))
    try:
        yield unfinished
        _sync(unfinished)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    with suppress(OSError):  # not every file system can; then the old file may outlive a crash
        _sync(path.parent)


def clear_unfinished(*folders: Path) -> None:
    """Deletes what processes that were killed left half written; nobody else may be writing."""
    for folder in folders:
        for path in folder.glob(UNFINISHED.format("*")):
            with suppress(OSError):
                path.unlink()


def fault(folder: Path, error: BaseException | None) -> str | None:
    """What keeps a run from writing into its folder, in one line; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in FAULTS:
        return None
    place = error.filename2 or error.filename or folder
    return (
        f"outputs: {FAULTS[error.errno]}: {place}; what was there is intact, and once this is "
        "mended the same command goes on"
    )


def lock(file: IO[str], folder: Path) -> None:
    """Locks an open file for this process, which holds it until it ends or closes the file.

    Raises Busy where another process has it, ConfigError where there are no locks.
    """
    try:
        # Not flock, which workers would inherit and hold on to when the run is killed.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):  # POSIX allows both
            raise Busy(f"this very run is going on right now in {folder}") from None
        raise ConfigError(
            f"outputs: the file system of {folder} has no locks ({error}), so two processes could "
            "spoil one run; set outputs= to a folder of another file system"
        ) from None


def _sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
