"""Everything in configs/ composes, and whatever can be combined builds or is refused by name."""

import inspect
import re
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
import pytorch_lightning as pl
import yaml

from posenc.building import build
from posenc.errors import ConfigError
from posenc.schema import CONFIGS, PLUGINS, choices, defaults_of
from posenc.settings import Optimizer, Trainer
from posenc.training.optimizer import adamw

FILES = sorted(CONFIGS.glob("*/*.yaml"))
SOURCE = CONFIGS.parent / "src" / "posenc"


def name_of(path: Path) -> str:
    return f"{path.parent.name}={path.stem}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_every_file_composes_to_a_configuration_that_is_accepted(file: Path, configured):
    config = configured(name_of(file))
    given = yaml.safe_load(file.read_text())
    if "name" in given:
        given.pop("defaults", None)
        given.pop("parts", None)  # are completed
        composed = asdict(config)[file.parent.name]
        assert composed | given == composed
        assert given["name"] == file.stem


def test_settings_of_trainer_and_optimizer_have_the_names_of_what_they_set():
    trainer = {field.name for field in fields(Trainer)}
    assert trainer <= inspect.signature(pl.Trainer).parameters.keys()
    settings = {field.name for field in fields(Optimizer)} - {"name"}
    assert settings <= inspect.signature(adamw).parameters.keys()


def test_every_other_key_is_read_somewhere(configured):
    read = "".join(path.read_text() for path in SOURCE.rglob("*.py") if path.stem != "schema")
    for group, value in asdict(configured()).items():
        if group not in (*PLUGINS, "trainer", "optimizer"):
            below = isinstance(value, dict)
            keys = [f"{group}.{key}" for key in value] if below else [f"config.{group}"]
            unread = [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", read)]
            assert set(unread) <= {"model.name"}, unread  # read by group, for every group alike


@pytest.mark.parametrize("task", choices("task"))
@pytest.mark.parametrize("model", choices("model"))
def test_every_task_can_be_learned_by_every_model(task: str, model: str, configured):
    experiment = build(configured(f"task={task}", f"model={model}", "model.width=16"))
    assert experiment.trained
    assert max(experiment.evaluated) > max(experiment.trained)


@pytest.mark.parametrize("model", choices("model"))
@pytest.mark.parametrize("encoding", choices("encoding"))
def test_every_combination_builds_or_is_refused_in_one_sentence(
    encoding: str, model: str, configured
):
    config = configured(f"encoding={encoding}", f"model={model}", "model.width=16")
    for positions in choices("positions"):
        try:
            experiment = build(replace(config, positions=defaults_of("positions", positions)))
        except ConfigError as refusal:
            line = str(refusal)
            assert "=" in line.split()[0] or ":" in line.split()[0], line
            assert "\n" not in line
            assert len(line) < 250
        else:
            assert experiment.net.shape.causal == (model == "decoder")
