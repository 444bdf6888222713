"""Large imports, without looking for garbage in what is there to stay."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def to_stay(module: str) -> Iterator[None]:
    """Inside, Python looks for no garbage, and later never in what is imported here.

    To look again and again through the hundreds of thousands of objects of PyTorch and Lightning
    takes a third of the time of their import, and once more at the end of the program. Does nothing
    where the `module` is there already: what a run has left behind by then is not to stay.
    """
    if module in sys.modules:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
