"""A run that is stopped, politely or not, goes on as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import TINY, only_run, run, started, status, wait_until
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import posenc.run
import posenc.scoring
from posenc.choosing import PROJECT
from posenc.results.records import RunFolder
from posenc.training import storing
from posenc.training.data import TrainingData

STEPS = 300
LONG = (
    *TINY, f"trainer.max_steps={STEPS}", "checkpoint.every=50", "logger=tensorboard",
    "trainer.log_every_n_steps=10", "eval.probe_every=40", "model.dropout=0.1", "positions=random",
)  # fmt: skip


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    outputs = tmp_path_factory.mktemp("unbroken")
    assert run(*LONG, f"outputs={outputs}").code == 0
    return RunFolder(only_run(outputs))


def checkpoint(folder: RunFolder) -> dict[str, Any]:
    return torch.load(folder.checkpoint, weights_only=True)


def weights(folder: RunFolder) -> dict[str, list[Any]]:
    return {name: tensor.tolist() for name, tensor in checkpoint(folder)["state_dict"].items()}


def curves(folder: RunFolder) -> dict[str, list[tuple[int, float]]]:
    """Everything TensorBoard shows as a curve, apart from speed."""
    events = EventAccumulator(str(folder.path))
    events.Reload()
    tags = events.Tags()["scalars"]
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in tags
        if "per_second" not in tag
    }


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGKILL, -signal.SIGKILL, "running"),
        (signal.SIGTERM, 143, "interrupted"),
        (signal.SIGINT, 130, "interrupted"),
    ],
)
def test_stopped_run_goes_on_to_the_same_weights_rows_and_curves(
    number: int, code: int, said: str, unbroken: RunFolder, tmp_path: Path
):
    outputs = tmp_path / "outputs"
    folder = RunFolder(outputs / unbroken.path.relative_to(unbroken.path.parents[2]))
    with started(*LONG, f"outputs={outputs}", cwd=tmp_path) as process:
        wait_until(folder.checkpoint.exists, process)
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    assert status(folder.path)["status"] == said
    step = checkpoint(folder)["global_step"]
    assert 50 <= step < STEPS
    assert not (folder.path / "lengths.csv").exists()
    output = (tmp_path / "output").read_text()
    assert "Traceback" not in output
    if number != signal.SIGKILL:
        assert "the same command goes on from here" in output
        losses = curves(folder)["train/loss"]
        assert losses == curves(unbroken)["train/loss"][: step // 10]

    time.sleep(1)  # TensorBoard orders event files by the whole seconds in their names
    again = run(*LONG, f"outputs={outputs}")
    assert again.code == 0
    assert f"resumed at step {step}" in again.out
    assert status(folder.path)["status"] == "finished"
    assert weights(folder) == weights(unbroken)
    rows = (folder.path / "lengths.csv").read_bytes()
    assert rows == (unbroken.path / "lengths.csv").read_bytes()
    assert curves(folder) == curves(unbroken)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["setup", "train_dataloader"])
def test_signal_before_training_has_begun_leaves_the_checkpoint_alone(
    moment: str, number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    command = (*TINY, "checkpoint.every=3", f"outputs={tmp_path}")
    write, written = storing.write_checkpoint, list[bytes]()

    def noting(checkpoint: dict[str, Any], path: Path) -> None:
        write(checkpoint, path)
        written.append(path.read_bytes())

    with monkeypatch.context() as patch:
        patch.setattr(storing, "write_checkpoint", noting)
        assert run(*command).code == 0
    folder, kept = RunFolder(only_run(tmp_path)), written[0]
    result = (folder.path / "lengths.csv").read_bytes()
    folder.write_status(status="interrupted")
    folder.checkpoint.write_bytes(kept)
    assert checkpoint(folder)["global_step"] == 3

    usual = getattr(TrainingData, moment)

    def stopped(self: TrainingData, *arguments: Any, **settings: Any) -> Any:
        os.kill(os.getpid(), number)
        return usual(self, *arguments, **settings)

    monkeypatch.setattr(TrainingData, moment, stopped)
    assert run(*command).code == 128 + number
    assert status(folder.path)["status"] == "interrupted"
    assert folder.checkpoint.read_bytes() == kept
    assert (folder.path / "lengths.csv").read_bytes() == result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_during_evaluation_keeps_the_trained_network(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    by_length, before = posenc.scoring.by_length, signal.getsignal(number)

    def stopped(*arguments: Any, **settings: Any) -> Any:
        os.kill(os.getpid(), number)
        return by_length(*arguments, **settings)

    monkeypatch.setattr(posenc.scoring, "by_length", stopped)
    assert run(*TINY, f"outputs={tmp_path}").code == 128 + number
    folder = RunFolder(only_run(tmp_path))
    assert status(folder.path)["status"] == "interrupted"
    assert checkpoint(folder)["global_step"] == 6
    assert signal.getsignal(number) is before

    monkeypatch.setattr(posenc.scoring, "by_length", by_length)
    monkeypatch.setattr(posenc.run, "fit", None)
    assert run(*TINY, f"outputs={tmp_path}").code == 0
    assert status(folder.path)["status"] == "finished"


def test_signal_to_workers_too_is_no_failure(tmp_path: Path):
    outputs = tmp_path / "outputs"
    endless = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5", "data.workers=2")
    with started(*endless, f"outputs={outputs}", cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert status(only_run(outputs))["status"] == "interrupted"


def test_run_goes_on_when_nobody_reads_what_it_prints(tmp_path: Path):
    command = [sys.executable, str(PROJECT / "train.py"), *TINY, f"outputs={tmp_path}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "started" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    assert status(only_run(tmp_path))["status"] == "finished"


def test_run_that_is_going_on_is_refused_to_a_second_process(tmp_path: Path):
    outputs = tmp_path / "outputs"
    endless = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5", f"outputs={outputs}")
    with started(*endless, cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)
        for command in (endless, (*endless, "overwrite=true"), (*endless, "length.test=30")):
            ended = run(*command)
            assert ended.code == 2
            assert str(only_run(outputs)) in ended.err
            assert len(ended.err.splitlines()) == 1
        assert status(only_run(outputs))["status"] == "running"
