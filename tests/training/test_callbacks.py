"""What is kept of a run, how it is stopped, and what looking at it must not change."""

import os
import signal
import time
from types import SimpleNamespace

import pytest
import torch

from posenc import run
from posenc.errors import Interrupted, RunFailed
from posenc.training import monitor
from posenc.training.callbacks import Interruption, LastCheckpoint
from posenc.training.module import AnswerModule
from posenc.training.monitor import Monitor
from posenc.training.storing import Checkpoints
from posenc.training.watching import Together


def loaded(folder):
    """A checkpoint under the loading that runs no code."""
    return torch.load(folder.checkpoint, weights_only=True)


def test_the_checkpoint_is_the_last_state_and_the_only_one(runs):
    folder = runs("checkpoint.every=25")
    assert loaded(folder)["global_step"] == 60
    assert [file.name for file in folder.checkpoint.parent.iterdir()] == ["last.ckpt"]


def test_checkpoints_are_written_every_so_many_steps(runs, monkeypatch):
    kept, keep = [], LastCheckpoint._keep

    def noting(self, trainer):
        keep(self, trainer)
        kept.append((trainer.global_step, loaded(SimpleNamespace(checkpoint=self.path))))

    monkeypatch.setattr(LastCheckpoint, "_keep", noting)
    runs("checkpoint.every=25", "trainer.accumulate_grad_batches=2")
    assert [step for step, _ in kept] == [25, 50, 60]
    assert [checkpoint["global_step"] for _, checkpoint in kept] == [25, 50, 60]


def stub(save_checkpoint, *loggers):
    """A trainer at step 1."""
    return SimpleNamespace(
        save_checkpoint=save_checkpoint,
        loggers=loggers,
        global_step=1,
        lightning_module=torch.nn.Linear(1, 1),
    )


def test_weights_that_are_not_finite_never_replace_a_checkpoint(tmp_path):
    trainer = stub(lambda unfinished: unfinished.touch())
    torch.nn.init.constant_(trainer.lightning_module.bias, float("nan"))
    with pytest.raises(FloatingPointError, match=r"not finite at step 1$"):
        LastCheckpoint(tmp_path / "last.ckpt", 1).on_train_batch_end(trainer)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "last.ckpt"
    path.write_bytes(b"the one before")

    def torn(number):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", torn)
    with pytest.raises(OSError, match="no space"):
        Checkpoints().save_checkpoint({"state_dict": {}}, path)
    assert path.read_bytes() == b"the one before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_log_is_on_disk_before_a_checkpoint_leaves_it_behind(tmp_path):
    """A resumed run never logs again what came before, so a killed one must not take it along."""
    order = []

    def save(unfinished):
        order.append("checkpoint")
        unfinished.touch()

    log = SimpleNamespace(save=lambda: order.append("log"))
    LastCheckpoint(tmp_path / "last.ckpt", 1).on_train_batch_end(stub(save, log))
    assert order == ["log", "checkpoint"]


def test_nothing_is_kept_of_a_network_that_has_not_been_restored(tmp_path):
    """A signal may come while Lightning is still reading the checkpoint to go on from."""

    def overwrite(_):
        raise AssertionError("kept")

    keeper = LastCheckpoint(tmp_path / "last.ckpt", 1)
    keeper.on_exception(stub(overwrite), None, Interrupted(143))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_training_after_its_batch(runs, at_batch, number, code):
    handler = signal.getsignal(number)
    at_batch(33, lambda: os.kill(os.getpid(), number))
    with pytest.raises(Interrupted) as stopped:
        runs()
    assert stopped.value.code == code
    folder = runs.folder(runs.config())
    assert loaded(folder)["global_step"] == 34
    assert folder.status()["status"] == "interrupted"
    assert signal.getsignal(number) is handler


def test_a_signal_in_the_last_batch_loses_no_training(runs, at_batch):
    at_batch(59, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted):
        runs()
    assert loaded(runs.folder(runs.config()))["global_step"] == 60


def test_a_signal_outside_training_acts_at_once():
    with Interruption().handling_signals(), pytest.raises(Interrupted) as stopped:
        os.kill(os.getpid(), signal.SIGTERM)
    assert stopped.value.code == 143


def test_workers_leave_ctrl_c_to_the_trainer(runs, at_batch):
    """A terminal sends it to all processes; a worker that dies of it would look like a failure."""

    def to_all():
        for worker in torch.multiprocessing.active_children():
            os.kill(worker.pid, signal.SIGINT)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    at_batch(30, to_all)
    with pytest.raises(Interrupted):
        runs("data.workers=2")
    assert loaded(runs.folder(runs.config("data.workers=2")))["global_step"] == 31


@pytest.fixture
def probed(runs, monkeypatch):
    """Runs with a log, but without the pictures that end it."""
    monkeypatch.setattr(run, "publish", lambda *_: None)
    settings = ("model.dropout=0.2", "positions=random", "logger=tensorboard")
    return lambda *overrides, where: runs(*settings, *overrides, where=where)


def test_looking_on_changes_nothing(runs, probed):
    never = runs("model.dropout=0.2", "positions=random", where="never")
    often = probed("eval.probe_every=7", "eval.probe_samples=9", where="often")
    for part in ("state_dict", "optimizer_states"):
        torch.testing.assert_close(loaded(never)[part], loaded(often)[part], atol=0, rtol=0)


@pytest.mark.parametrize("step", [13, 20, 60])
def test_a_loss_that_is_not_finite_ends_the_run(runs, at_batch, step, monkeypatch):
    from posenc.training import module

    original = module.answer_loss
    at_batch(
        step - 2,
        lambda: monkeypatch.setattr(module, "answer_loss", lambda *a: original(*a) * float("nan")),
    )
    with pytest.raises(RunFailed, match=rf"FloatingPointError: the loss is nan at step {step}"):
        runs("checkpoint.every=4")
    folder = runs.folder(runs.config("checkpoint.every=4"))
    assert folder.status()["status"] == "failed"
    assert f"the loss is nan at step {step}" in folder.status()["traceback"]
    assert loaded(folder)["global_step"] == (step - 1) // 4 * 4


@pytest.mark.parametrize(("accumulate", "bad", "step"), [(1, 13, 13), (1, 60, 60), (2, 26, 13)])
def test_the_first_loss_that_is_not_finite_is_named(runs, monkeypatch, accumulate, bad, step):
    original = AnswerModule.learn

    def spoilt(self, batch, number):
        loss, *rest = original(self, batch, number)
        return loss * (float("inf") if number + 1 >= bad else 1), *rest

    monkeypatch.setattr(AnswerModule, "learn", spoilt)
    settings = ("checkpoint.every=8", f"trainer.accumulate_grad_batches={accumulate}")
    with pytest.raises(RunFailed, match=rf"the loss is inf at step {step}: lower optimizer\.lr"):
        runs(*settings)
    assert loaded(runs.folder(runs.config(*settings)))["global_step"] == (step - 1) // 8 * 8


@pytest.mark.parametrize("accumulate", [1, 3])
def test_training_pauses_where_somebody_looks_and_nowhere_else(runs, monkeypatch, accumulate):
    monkeypatch.setattr(monitor, "REDRAWN", float("inf"))
    stretches, original = [], AnswerModule.training_step

    def noted(self, batches, batch_idx):
        result = original(self, batches, batch_idx)
        stretches.append(result["steps"])
        return result

    monkeypatch.setattr(AnswerModule, "training_step", noted)
    runs(
        "trainer.max_steps=30", "trainer.log_every_n_steps=8", "checkpoint.every=12",
        "eval.probe_every=20", f"trainer.accumulate_grad_batches={accumulate}",
    )  # fmt: skip
    assert [stretch[-1] for stretch in stretches] == [8, 12, 16, 20, 24, 30]
    steps = [step for stretch in stretches for step in stretch]
    assert steps == [step for step in range(1, 31) for _ in range(accumulate)]


def test_training_ends_at_its_last_step_even_if_nobody_looks(runs, monkeypatch):
    monkeypatch.setattr(Together, "due", lambda self, step: False)
    assert loaded(runs("trainer.max_steps=30"))["global_step"] == 30


def test_how_often_training_pauses_changes_nothing(runs, monkeypatch):
    settings = ("model.dropout=0.2", "positions=random")
    monkeypatch.setattr(monitor, "REDRAWN", float("inf"))
    seldom = runs(*settings, where="seldom")
    monkeypatch.setattr(monitor, "REDRAWN", 0.0)
    often = runs(*settings, where="often")
    for part in ("state_dict", "optimizer_states"):
        torch.testing.assert_close(loaded(seldom)[part], loaded(often)[part], atol=0, rtol=0)


def test_a_rate_that_is_far_too_high_is_named(runs):
    with pytest.raises(RunFailed, match=r"lower optimizer\.lr"):
        runs("optimizer.lr=1e30")


def test_a_failure_before_training_is_not_hidden_by_the_monitor():
    Monitor(progress_bar=True, show=print).on_exception(None, None, ValueError("the cause"))


def test_speed_is_that_of_the_tokens_of_this_process(runs, at_batch):
    unbroken = runs(where="unbroken").status()
    at_batch(55, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted):
        runs()
    resumed = runs().status()
    assert resumed["train_seconds"] < unbroken["train_seconds"]
    # 4 steps are short, and their speed is no multiple of that of 60.
    assert resumed["tokens_per_second"] < 5 * unbroken["tokens_per_second"]
