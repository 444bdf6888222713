"""Memory that is free, and that the C library keeps for later."""

import ctypes
from functools import cache


def release() -> None:
    """Gives it back to the system, where that is glibc; it takes about a millisecond.

    Tensors of ever other sizes leave gaps between them into which the next ones do not fit.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> "ctypes._NamedFuncPointer | None":
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
