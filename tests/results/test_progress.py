"""How far a run is, told while it goes on, and who is at work on it."""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from locks import held

from posenc.results import progress
from posenc.results.progress import Progress, Step, forget
from posenc.results.records import SILENT, RunFolder
from posenc.results.status import is_held, read_run


def test_what_is_told_is_read_and_leaves_no_other_file(tmp_path: Path):
    Progress(tmp_path, "training", of=2000).show(150, steps_per_second=50.0)
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
    step = Step.read(tmp_path)
    assert step == Step("training", 150, 2000, 50.0)
    assert (step.share, step.seconds_left) == (0.075, 37.0)


def test_nothing_is_written_twice_within_a_second_but_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    told, seen = Progress(tmp_path, "training", of=40), []
    for step in range(41):
        told.show(step)
        seen.append(Step.read(tmp_path).step)
        now[0] += 0.125
    assert sorted(set(seen)) == [0, 8, 16, 24, 32, 40]
    assert seen[39:] == [32, 40]


def test_evaluation_tells_the_length_it_is_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(progress, "EVERY", 0)
    told, seen = Progress(tmp_path, "evaluating", of=4), []
    for lengths in ([5, 10], [5, 10]):
        for length in told.each(lengths):
            seen += [(length, json.loads((tmp_path / "progress.json").read_text()))]
    common = {"stage": "evaluating", "of": 4}
    expected = enumerate((5, 10, 5, 10))
    assert seen == [(at, common | {"step": step, "length": at}) for step, at in expected]
    assert Step.read(tmp_path).seconds_left is None


def test_run_goes_on_where_nothing_can_be_written_and_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(progress, "EVERY", 0)
    told = Progress(tmp_path / "gone", "training", of=3)
    for step in range(3):
        told.show(step)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "gone" in caplog.text
    (tmp_path / "gone").mkdir()
    told.show(3)
    assert Step.read(tmp_path / "gone") == Step("training", 3, 3)


def test_what_was_told_goes_with_the_run_and_what_a_killed_one_left_with_the_next(tmp_path: Path):
    folder, told = RunFolder(tmp_path), Progress(tmp_path, "training", of=3)
    told.show(3)
    (tmp_path / ".progress.json.unfinished").touch()
    with folder.locked():
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
        told.show(3)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    with pytest.raises(ZeroDivisionError):
        _break_off(folder, told)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    forget(tmp_path / "gone")


def _break_off(folder: RunFolder, told: Progress) -> None:
    with folder.locked():
        told.show(3)
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[1]", "7", '{"stage": "training"}', '{"stage": "training", "step": 1, "of": 0}',
     '{"stage": "training", "step": [], "of": 9}',
     '{"stage": "training", "step": 1, "of": 9, "steps_per_second": "x"}',
     '{"stage": "training", "step": 1, "of": 9, "steps_per_second": 0}'],
)  # fmt: skip
def test_damaged_progress_is_none(damage: str, tmp_path: Path):
    (tmp_path / "progress.json").write_text(damage)
    assert Step.read(tmp_path) is None


def test_lock_is_asked_for_and_neither_made_nor_taken(tmp_path: Path):
    lock = tmp_path / ".lock"
    assert is_held(lock) is False
    assert not lock.exists()
    with held(lock):
        assert is_held(lock) is True
    assert is_held(lock) is False
    lock.chmod(0o444)
    assert is_held(lock) is False


def running(path: Path, **status: Any) -> RunFolder:
    folder = RunFolder(path / "copy" / "encoder-rope-index" / "seed0-f0")
    folder.write_status(status="running", host=os.uname().nodename, **status)
    return folder


def unseen(folder: RunFolder, seconds: float) -> None:
    """Lets every sign of life be that old."""
    then = time.time() - seconds
    for name in (".lock", "run.json", "progress.json"):
        if (folder.path / name).exists():
            os.utime(folder.path / name, (then, then))


def test_running_is_what_another_process_holds_however_long_it_is_silent(tmp_path: Path):
    folder = running(tmp_path)
    Progress(folder.path, "training", of=9).show(3, steps_per_second=1.5)
    unseen(folder, 10 * SILENT)
    with held(folder.path / ".lock"):
        run = read_run(folder.path)
    assert (run.state, run.reason, run.step) == ("running", None, Step("training", 3, 9, 1.5))
    unseen(folder, 10 * SILENT)
    lost = read_run(folder.path)
    assert (lost.state, lost.reason, lost.step) == ("lost", "silent for 20 min", run.step)
    assert lost.name == "copy/encoder-rope-index/seed0-f0"


@pytest.mark.parametrize("where", ["no locks here", "on another machine"])
def test_without_locks_a_sign_of_life_has_to_do(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    folder = running(tmp_path)
    (folder.path / ".lock").touch()
    if where == "no locks here":

        def fail(*_: Any) -> None:
            raise OSError(37, "No locks available")

        monkeypatch.setattr(fcntl, "fcntl", fail)
    else:
        folder.write_status(host="another")
    assert read_run(folder.path).state == "running"
    unseen(folder, SILENT + 5)
    assert read_run(folder.path).state == "lost"
    Progress(folder.path, "training", of=9).show(3)
    assert read_run(folder.path).state == "running"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "run.json cannot be read"),
        ("[1]", "run.json has schema None"),
        ('{"schema": 1, "status": "finished"}', "run.json has schema 1, not 2"),
        ('{"schema": 2, "status": ["x"]}', "run.json is damaged (status)"),
        ('{"schema": 2, "status": "new"}', "run.json says status=new"),
        ('{"schema": 2}', "run.json says status=None"),
    ],
)
def test_damaged_and_old_runs_are_named_and_break_nothing(
    content: str, reason: str, tmp_path: Path
):
    (tmp_path / "run.json").write_text(content)
    run = read_run(tmp_path)
    assert run.state == "unreadable"
    assert run.reason.startswith(reason)


def test_folder_without_a_run_is_none(tmp_path: Path):
    assert read_run(tmp_path) is None
