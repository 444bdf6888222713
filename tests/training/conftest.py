"""Whole runs in this process, small enough for many of them."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posenc.results.records import RunFolder
from posenc.run import train
from posenc.schema import Config
from posenc.training.module import AnswerModule

QUICK = (
    "task=copy", "task.symbols=20", "length.min=2", "length.train=5", "length.test=5",
    "model=decoder", "model.width=16", "model.heads=2", "data.batch_size=4", "logger=none",
    "trainer.max_steps=60", "trainer.log_every_n_steps=10", "trainer.enable_progress_bar=false",
    "checkpoint.every=20", "eval.samples=8", "eval.lengths=[5]",
)  # fmt: skip


class Runs:
    """Starts runs below a folder of their own, and looks at what they left."""

    def __init__(self, root: Path, configured: Callable[..., Config]) -> None:
        self.root = root
        self.configured = configured

    def config(self, *overrides: str, where: str = "outputs") -> Config:
        return replace(self.configured(*QUICK, *overrides), outputs=str(self.root / where))

    def __call__(self, *overrides: str, where: str = "outputs") -> RunFolder:
        config = self.config(*overrides, where=where)
        train(config, overrides)
        return self.folder(config)

    @staticmethod
    def folder(config: Config) -> RunFolder:
        return RunFolder.of(asdict(config))


@pytest.fixture
def runs(tmp_path: Path, configured: Callable[..., Config]) -> Runs:
    return Runs(tmp_path, configured)


@pytest.fixture
def at_batch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """(number, action): once, and in the midst of that batch, something happens."""
    return partial(_plan, monkeypatch)


@pytest.fixture(scope="module")
def module_runs(
    tmp_path_factory: pytest.TempPathFactory, configured: Callable[..., Config]
) -> Iterator[tuple[Runs, Callable[..., None]]]:
    """`runs` and `at_batch` for a run that all tests of a file look at."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield Runs(tmp_path_factory.mktemp("runs"), configured), partial(_plan, monkeypatch)


def _plan(monkeypatch: pytest.MonkeyPatch, number: int, action: Callable[[], None]) -> None:
    original, done = AnswerModule.learn, []

    def learn(self: AnswerModule, batch: Any, now: int) -> Any:
        result = original(self, batch, now)
        if now == number and not done:
            done.append(now)
            action()
        return result

    monkeypatch.setattr(AnswerModule, "learn", learn)
