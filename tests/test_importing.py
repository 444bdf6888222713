"""Imports that are there to stay, and memory that is not."""

import gc
import subprocess
import sys

import pytest

PROGRAM = """
import gc
from posenc.importing import to_stay

with to_stay("torch"):
    assert not gc.isenabled()
    import torch
assert gc.isenabled()
kept = gc.get_freeze_count()
assert kept > 100_000, kept
with to_stay("torch"):
    assert gc.isenabled()
    left = [[] for _ in range(1000)]
assert gc.get_freeze_count() <= kept
"""
TRIMMED = """
from pathlib import Path
from posenc.memory import release

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

blocks = [b"x" * 100_000 for _ in range(2000)]
last = b"x" * 100_000
del blocks
before = resident()
release()
assert before - resident() > 100, (before, resident())
"""


def test_what_is_imported_to_stay_is_never_looked_at_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_import_that_fails_leaves_the_collector_at_work() -> None:
    from posenc.importing import to_stay

    with pytest.raises(ModuleNotFoundError), to_stay("no_such_module"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert gc.isenabled()
    gc.unfreeze()


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries keep what they like")
def test_released_memory_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", TRIMMED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
