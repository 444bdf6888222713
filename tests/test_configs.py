"""Everything in configs/ composes, and whatever can be combined builds or is refused by name."""

import ast
import inspect
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch
import yaml
from catalogue import CLASSES

from posenc.building import build, make_task
from posenc.choosing import CONFIGS, PLUGINS, choices, defaults_of
from posenc.errors import ConfigError
from posenc.evaluation import by_length
from posenc.model.layout import slots
from posenc.portrait import model_for
from posenc.seeding import generator
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
    assert trainer - {"compile"} <= inspect.signature(pl.Trainer).parameters.keys()
    settings = {field.name for field in fields(Optimizer)} - {"name"}
    assert settings <= inspect.signature(adamw).parameters.keys()


def test_every_other_key_is_read_somewhere(configured):
    trees = [ast.parse(path.read_text()) for path in SOURCE.rglob("*.py") if path.stem != "schema"]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    read = {".".join(ast.unparse(node).split(".")[-2:]) for node in nodes}
    for group, value in asdict(configured()).items():
        if group not in (*PLUGINS, "trainer", "optimizer", "logger"):
            below = isinstance(value, dict)
            keys = [f"{group}.{key}" for key in value] if below else [f"config.{group}"]
            assert set(keys) <= read


@pytest.mark.parametrize("task", choices("task"))
@pytest.mark.parametrize("model", choices("model"))
def test_every_task_can_be_learned_by_every_model(task: str, model: str, configured):
    config = configured(f"task={task}", f"model={model}", "model.width=16")
    if make_task(config).causal_only and not config.model.causal:
        with pytest.raises(ConfigError, match=r"^model=encoder: .*; set model=decoder$"):
            build(config)
        return
    experiment = build(config)
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


ALIASES = sorted(set(choices("encoding")) - set(CLASSES))
MARKS = {"places": ["abacus", "abacus_fire", "abacus_rope"], "coordinates": ["coupled"]}
"""What a task must know of its tokens for these to be defined."""


@pytest.mark.parametrize("task", choices("task"))
def test_what_asks_a_task_for_marks_builds_where_it_has_them(task: str, configured):
    chosen = configured(f"task={task}").task
    small = ("model.width=16", f"model={model_for(chosen['name'], 'task')}")
    plain = build(replace(configured(*small), task=chosen))
    sample = plain.task.sample(1, plain.trained[0], generator(0, "marks"))
    for mark, encodings in MARKS.items():
        for encoding in encodings:
            config = replace(configured(f"encoding={encoding}", *small), task=chosen)
            if getattr(sample, mark) is None:
                with pytest.raises(
                    ConfigError, match=r"^positions=\w+: the task (has|couples) no "
                ):
                    build(config)
            else:
                positions = build(config).positions
                shown = slots(sample, causal=config.model.causal)
                ids = positions.train(shown, generator(0, "positions"))
                assert ids.shape[:2] == (1, shown.tokens)
                assert 0 < ids.max() < positions.bound(shown)


@pytest.mark.parametrize("alias", ALIASES)
def test_every_alias_learns_and_answers(alias: str, model_name: str, built, learned):
    run = ("task=addition", "length.min=1", "length.train=4", "length.test=8")
    experiment = built(f"encoding={alias}", f"model={model_name}", *run)
    net = learned(experiment, 3, rows=8)
    assert all(weights.isfinite().all() for weights in net.state_dict().values())
    parts = (net, experiment.task, experiment.positions)
    for score in by_length(*parts, [1, 8], samples=8, seed=0):
        assert score.n == 8


def test_settings_that_are_null_follow_from_the_lengths_of_the_run(configured):
    """In tokens: reversing 7 symbols is 14 of them, and 35 symbols are five times as many."""
    run = ("task=reverse", "length.train=7", "model.width=16")
    short, long = (configured(*run, f"length.test={length}") for length in (7, 35))

    def encoding(name: str, config=long, **settings):
        chosen = defaults_of("encoding", name) | settings
        return build(replace(config, encoding=chosen)).net.eval().encoding

    for name in ("rope_linear", "rope_ntk", "yarn"):
        assert encoding(name).factor_at_eval == 5
        assert encoding(name, factor_at_eval=3).factor_at_eval == 3
        assert encoding(name, short).factor_at_eval == 1
    filled_in, given = encoding("yarn"), encoding("yarn", trained_length=14)
    cpu = torch.device("cpu")
    assert torch.equal(filled_in.frequencies(cpu), given.frequencies(cpu))
    assert encoding("fire").threshold == 14
    assert encoding("fire", threshold=99).threshold == 99
    assert encoding("dape", base="fire").base.threshold == 14
    parts = configured(*run, "encoding=combined", "encoding.parts=[learned,fire]")
    assert build(parts).net.encoding.parts[1].threshold == 14
