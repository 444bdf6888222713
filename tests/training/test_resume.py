"""A run that was stopped and taken up again is the run that was never stopped, bit for bit."""

import os
import signal

import pytest
import torch

from posenc.checkpoint import read_checkpoint
from posenc.errors import Interrupted, RunFailed
from posenc.training.data import Batches
from posenc.training.module import AnswerModule

VARIANTS = {
    "plain": (),
    "dropout": ("model.dropout=0.2", "positions=random", "encoding=t5"),
    "accumulation": ("trainer.accumulate_grad_batches=2", "model.dropout=0.2"),
    "workers": ("data.workers=2", "positions=shifted"),
}


def crash():
    raise RuntimeError("the power went out")


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def trained_on(monkeypatch):
    """The prompts of every batch that was trained on, in order, with its number."""
    original, seen = AnswerModule.learn, []

    def learn(self, batch, number):
        seen.append((number, batch.prompt.clone()))
        return original(self, batch, number)

    monkeypatch.setattr(AnswerModule, "learn", learn)
    return seen


def assert_same_state(folder, other):
    ones, others = read_checkpoint(folder.checkpoint), read_checkpoint(other.checkpoint)
    for part in ("global_step", "state_dict", "optimizer_states", "lr_schedulers"):
        torch.testing.assert_close(ones[part], others[part], atol=0, rtol=0)
    assert folder.read_rows("lengths.csv") == other.read_rows("lengths.csv")


@pytest.mark.parametrize("stop", [terminate, crash])
@pytest.mark.parametrize(
    ("variant", "batch"),
    [*((name, 46) for name in VARIANTS), ("accumulation", 47)],  # in the midst of a step, and after
)
def test_stopped_and_taken_up_again(runs, at_batch, variant, stop, batch):
    settings = VARIANTS[variant]
    unbroken = runs(*settings, where="unbroken")
    at_batch(batch, stop)
    with pytest.raises(RunFailed if stop is crash else Interrupted):
        runs(*settings)
    folder = runs.folder(runs.config(*settings))
    assert folder.status()["status"] == ("failed" if stop is crash else "interrupted")
    assert 0 < read_checkpoint(folder.checkpoint)["global_step"] < 60
    runs(*settings)
    assert folder.status()["status"] == "finished"
    assert folder.status()["resumed_from"] > 0
    assert_same_state(folder, unbroken)


@pytest.mark.parametrize(("variant", "count"), [("accumulation", 120), ("workers", 60)])
def test_no_batch_comes_twice_or_is_left_out(runs, at_batch, trained_on, built, variant, count):
    at_batch(36, terminate)
    with pytest.raises(Interrupted):
        runs(*VARIANTS[variant])
    runs(*VARIANTS[variant])
    assert [number for number, _ in trained_on] == list(range(count))
    experiment = built("task=copy", "task.symbols=20", "length.min=2", "length.train=5")
    batches = Batches(experiment.task, experiment.trained, rows=4, seed=0)
    assert all(torch.equal(prompt, batches[number].prompt) for number, prompt in trained_on)


def test_stopped_time_and_again(runs, at_batch, monkeypatch):
    unbroken = runs("model.dropout=0.1", where="unbroken")
    for batch in (3, 4, 30, 59):
        with monkeypatch.context():
            at_batch(batch, terminate)
            with pytest.raises(Interrupted):
                runs("model.dropout=0.1")
    assert_same_state(runs("model.dropout=0.1"), unbroken)


def test_the_rate_goes_on(runs, at_batch):
    unbroken = read_checkpoint(runs(where="unbroken").checkpoint)
    at_batch(29, terminate)
    with pytest.raises(Interrupted):
        runs()
    folder = runs.folder(runs.config())
    (rate,) = {
        group["lr"]
        for group in read_checkpoint(folder.checkpoint)["optimizer_states"][0]["param_groups"]
    }
    # 3 steps up, 57 down; 30 steps are done.
    assert rate == pytest.approx(0.0005 * (1 + torch.tensor(torch.pi * 27 / 57).cos().item()))
    resumed = read_checkpoint(runs().checkpoint)
    assert resumed["lr_schedulers"] == unbroken["lr_schedulers"]


def test_a_run_that_had_trained_to_the_end_only_evaluates(runs, monkeypatch, trained_on):
    with monkeypatch.context() as patch:
        patch.setattr("posenc.run.score", lambda *_: crash())
        with pytest.raises(RunFailed):
            runs()
    assert len(trained_on) == 60
    folder = runs()
    assert len(trained_on) == 60
    assert_same_state(folder, runs(where="unbroken"))


def test_nothing_outside_decides_what_is_learned(runs):
    """Neither the global generator, nor workers, nor how often a checkpoint or a log is written."""
    torch.manual_seed(1)
    first = runs("model.dropout=0.2", "positions=random", where="first")
    torch.manual_seed(2)
    other = runs(
        "model.dropout=0.2", "positions=random", "data.workers=1", "checkpoint.every=7",
        "trainer.log_every_n_steps=3", where="other",
    )  # fmt: skip
    assert_same_state(first, other)
