"""Every task of the catalogue, built from its yaml: a new yaml is tested from its first day.

`task_variants.yaml` names more settings under which all of these tests are repeated.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from posenc.tasks.base import Task

CATALOGUE = Path(__file__).parents[1] / "configs" / "task"
VARIANTS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("task_variants.yaml").read_text()
)


def config(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


def task_class(settings: dict[str, Any]) -> type[Task]:
    module, _, name = settings["_target_"].rpartition(".")
    return getattr(import_module(module), name)


FILES = [path for path in sorted(CATALOGUE.glob("*.yaml")) if "_target_" in config(path)]
"""Those that stand for no other."""


def made(path: Path, **changes: Any) -> Task:
    settings = {k: v for k, v in config(path).items() if k not in ("name", "_target_")}
    assert set(changes) <= set(settings)
    return task_class(config(path))(**{**settings, **changes})


MADE = {
    path.stem + "".join(f"-{key}={value}" for key, value in changes.items()): (path, changes)
    for path in FILES
    for changes in ({}, *VARIANTS.get(path.stem, []))
}
