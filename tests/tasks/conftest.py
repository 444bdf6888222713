"""Tests of one task at a time."""

import pytest
from task_variants import MADE, made

from posenc.tasks.base import Task


@pytest.fixture(params=MADE.values(), ids=MADE)
def task(request: pytest.FixtureRequest) -> Task:
    """Every task, with its default settings and with others."""
    path, changes = request.param
    return made(path, **changes)
