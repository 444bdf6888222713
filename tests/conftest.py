"""Configurations as train.py reads them; what configs/ lists is tested from its first day."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from browser import browser, page  # noqa: F401  fixtures
from catalogue import CLASSES
from hydra import compose, initialize_config_dir

import posenc.cli  # noqa: F401  configs/train.yaml needs the resolver that it registers
from posenc.building import build
from posenc.catalogue import classes
from posenc.choosing import CONFIGS, choices
from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.model.transformer import Transformer
from posenc.schema import Config, load
from posenc.seeding import generator
from posenc.training.data import Batches
from posenc.training.optimizer import adamw

torch.set_num_threads(1)  # as train.py does; more of them only get in each other's way

SMALL = ("model.width=16", "model.heads=2")
ROWS = 4096
"""Of every table that ends: enough for all ids that positions draw by default."""


@cache
def _composed(*overrides: str) -> Config:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return load(compose("train", list(overrides)))


@pytest.fixture(params=CLASSES)
def encoding_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=choices("positions"))
def positions_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=classes("task"))
def task_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=choices("model"))
def model_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def configured() -> Callable[..., Config]:
    """(*overrides) -> what train.py would get; shared, so never changed in place."""
    return _composed


def _roomy(encoding: dict[str, Any]) -> dict[str, Any]:
    """The same with ROWS rows in every table that ends, those of parts too."""
    rows = {"max_length": ROWS} if "max_length" in encoding else {}
    parts = {"parts": [_roomy(part) for part in encoding["parts"]]} if "parts" in encoding else {}
    return {**encoding, **rows, **parts}


@pytest.fixture(scope="session")
def built() -> Callable[..., Experiment]:
    """(*overrides) -> a fresh small experiment; skips the test where theory defines none."""

    def experiment(*overrides: str) -> Experiment:
        config = _composed(*SMALL, *overrides)
        try:
            return build(replace(config, encoding=_roomy(config.encoding)))
        except ConfigError as refusal:
            pytest.skip(str(refusal))

    return experiment


@pytest.fixture(scope="session")
def learned() -> Callable[..., Transformer]:
    """(experiment, steps) -> its network after a few steps of a bare loop, without Lightning."""

    def learn(experiment: Experiment, steps: int, rows: int = 32, lr: float = 3e-3) -> Transformer:
        net = experiment.net
        batches = Batches(experiment.task, experiment.trained, rows=rows, seed=0)
        optimizer, schedule = adamw(
            net, lr=lr, betas=(0.9, 0.999), weight_decay=0.0, warmup=0.05, max_steps=steps
        )
        for number in range(steps):
            batch = batches[number]
            tokens = arrange(batch, ask=net.ask, causal=net.shape.causal)
            stream = generator(0, "ids", number)
            ids = experiment.positions.train(slots(batch, causal=net.shape.causal), stream)
            loss = answer_loss(net(tokens, ids, batch.answer.shape[1]), batch.answer, batch.scored)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        return net

    return learn
