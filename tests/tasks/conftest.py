"""Every task of the catalogue, built from its yaml: a new yaml is tested from its first day."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from posenc.tasks.base import Task

CATALOGUE = Path(__file__).parents[2] / "configs" / "task"


@pytest.fixture(params=sorted(CATALOGUE.glob("*.yaml")), ids=lambda path: path.stem)
def task_file(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def task_config(task_file: Path) -> dict[str, Any]:
    return yaml.safe_load(task_file.read_text())


@pytest.fixture
def task_class(task_config: dict[str, Any]) -> type[Task]:
    module, _, name = task_config["_target_"].rpartition(".")
    return getattr(import_module(module), name)


@pytest.fixture
def task_settings(task_config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in task_config.items() if key not in ("name", "_target_")}


@pytest.fixture
def task(task_class: type[Task], task_settings: dict[str, Any]) -> Task:
    return task_class(**task_settings)
