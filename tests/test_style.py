"""The code is formatted, linted and typed."""

import subprocess
import sys

import pytest

from posenc.choosing import PROJECT


@pytest.mark.parametrize("check", ["ruff check", "ruff format --check", "mypy"])
def test_nothing_is_found(check: str) -> None:
    command = [sys.executable, "-m", *check.split()]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
