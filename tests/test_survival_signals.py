"""Ctrl-C at any moment, twice if need be, and output that nobody takes: never a traceback."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, only_run, run, started, status

from posenc.checkpoint import read_checkpoint
from posenc.choosing import PROJECT
from posenc.results.records import RunFolder
from posenc.training.module import AnswerModule
from posenc.training.storing import Checkpoints

STEPS = (*TINY, "trainer.max_steps=40", "checkpoint.every=7")
FIRST = 0.1
"""Seconds in which Python itself starts and begins to import."""


def test_second_ctrl_c_ends_a_step_that_does_not_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The first waits for the end of a step; the second leaves the last checkpoint as it is."""
    command, learn = (*STEPS, f"outputs={tmp_path}"), AnswerModule.learn

    def endless(self: AnswerModule, batch: Any, number: int) -> Any:
        result = learn(self, batch, number)
        if number == 24:
            os.kill(os.getpid(), signal.SIGINT)
            torn.append(number)
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("the second one did not wait")
        return result

    torn: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(AnswerModule, "learn", endless)
        ended = run(*command)
    assert torn == [24]
    assert ended.code == 130
    assert "Traceback" not in ended.out + ended.err
    folder = RunFolder(only_run(tmp_path))
    assert status(folder.path)["status"] == "interrupted"
    assert read_checkpoint(folder.checkpoint)["global_step"] == 21
    assert "resumed at step 21" in run(*command).out
    assert run(*STEPS, f"outputs={tmp_path / 'unbroken'}").code == 0
    rows = only_run(tmp_path / "unbroken") / "lengths.csv"
    assert (folder.path / "lengths.csv").read_bytes() == rows.read_bytes()


def test_second_ctrl_c_while_the_first_one_saves_keeps_the_checkpoint_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    save, learn = Checkpoints.save_checkpoint, AnswerModule.learn

    def interrupted(self: AnswerModule, batch: Any, number: int) -> Any:
        if number == 24:
            os.kill(os.getpid(), signal.SIGINT)
        return learn(self, batch, number)

    def interrupted_save(self: Checkpoints, checkpoint: Any, path: Any, **settings: Any) -> None:
        if checkpoint["global_step"] == 25:
            os.kill(os.getpid(), signal.SIGINT)
        save(self, checkpoint, path, **settings)

    monkeypatch.setattr(AnswerModule, "learn", interrupted)
    monkeypatch.setattr(Checkpoints, "save_checkpoint", interrupted_save)
    ended = run(*STEPS, f"outputs={tmp_path}")
    assert ended.code == 130
    assert "Traceback" not in ended.out + ended.err
    folder = RunFolder(only_run(tmp_path))
    assert status(folder.path)["status"] == "interrupted"
    assert read_checkpoint(folder.checkpoint)["global_step"] == 21


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_reaches_a_process_that_waits_for_its_step(second: int, tmp_path: Path):
    """In a process of its own. A step may have ended before the second signal came."""
    outputs = tmp_path / "outputs"
    endless = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5", f"outputs={outputs}")
    with started(*endless, cwd=tmp_path) as process:
        while not list(outputs.rglob("last.ckpt")):
            assert process.poll() is None
            time.sleep(0.003)
        process.send_signal(signal.SIGINT)
        process.send_signal(second)
        assert process.wait(timeout=60) in (130, 128 + second)
    assert "Traceback" not in (tmp_path / "output").read_text()
    folder = RunFolder(only_run(outputs))
    assert status(folder.path)["status"] == "interrupted"
    read_checkpoint(folder.checkpoint)


SCRIPTS = {
    "train.py": (*TINY, "trainer.max_steps=1000000"),
    "scripts/evaluate.py": ("run=/no/such/run",),
    "scripts/show.py": ("encoding=rope", "out=pictures"),
    "scripts/report.py": ("/no/such/folder",),
    "scripts/status.py": ("/no/such/folder",),
}


def interrupted(script: str, seconds: float, cwd: Path) -> tuple[int, str]:
    """Exit code and output of a script that gets Ctrl-C after so many seconds."""
    own = [f"outputs={cwd}"] if script == "train.py" else []
    command = [sys.executable, str(PROJECT / script), *SCRIPTS[script], *own]
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    return process.returncode, said


@pytest.mark.parametrize("script", SCRIPTS)
def test_ctrl_c_while_a_script_imports_is_no_traceback(script: str, tmp_path: Path):
    code, said = interrupted(script, 3 * FIRST, tmp_path)
    assert code in (130, -signal.SIGINT, 2)  # 2: it had refused already
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_ctrl_c_after_any_time_is_no_traceback(script: str, tmp_path: Path):
    draw = random.Random(script)
    for _ in range(12):
        seconds = draw.uniform(FIRST, 4)
        code, said = interrupted(script, seconds, tmp_path)
        assert code in (130, -signal.SIGINT, 0, 2), (seconds, said)
        assert "Traceback" not in said, seconds


def test_output_that_a_full_disk_takes_is_told_in_one_line_and_the_result_is_kept(tmp_path: Path):
    command = [sys.executable, str(PROJECT / "train.py"), *TINY, f"outputs={tmp_path}"]
    with open("/dev/full", "w") as full:
        lost = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert lost.returncode == 1
    (line,) = lost.stderr.splitlines()
    assert line.startswith("error: standard output: [Errno 28] No space left on device")
    assert status(only_run(tmp_path))["status"] == "finished"
