"""A disk that is full, read-only or not ours ends a run in one line and spoils nothing."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Ended, only_run, run, status

from posenc.checkpoint import read_checkpoint
from posenc.choosing import PROJECT
from posenc.errors import ConfigError
from posenc.results import disk
from posenc.results.disk import replacing
from posenc.results.records import RunFolder
from posenc.training import storing
from posenc.training.events import EventLog

COMMAND = (
    *TINY, "model.width=64", "trainer.max_steps=60", "checkpoint.every=10",
    "trainer.log_every_n_steps=1", "eval.probe_every=30",
)  # fmt: skip
ROOM = 8 * 2**20


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of ROOM bytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a disk")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    outputs = tmp_path_factory.mktemp("unbroken")
    assert run(*COMMAND, f"outputs={outputs}").code == 0
    return RunFolder(only_run(outputs))


def fill(place: Path, *, leaving: int = 0) -> None:
    """Takes all room but so many bytes."""
    left = os.statvfs(place)
    size = max(0, left.f_bavail * left.f_frsize - leaving)
    with (place / "filling").open("ab") as file:
        os.posix_fallocate(file.fileno(), file.tell(), size)


def filled_at(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, place: Path, number: int = 1
) -> None:
    """At its call of that number a function finds the disk full."""
    usual, left = getattr(owner, name), iter(range(number - 1))

    def filling(*arguments: Any, **settings: Any) -> Any:
        if next(left, None) is None and not (place / "filling").exists():
            fill(place)
        return usual(*arguments, **settings)

    monkeypatch.setattr(owner, name, filling)


def same_result(folder: RunFolder, other: RunFolder) -> bool:
    ours, theirs = (read_checkpoint(each.checkpoint)["state_dict"] for each in (folder, other))
    alike = all(tensor.equal(theirs[name]) for name, tensor in ours.items())
    rows = [(each.path / "lengths.csv").read_bytes() for each in (folder, other)]
    return alike and rows[0] == rows[1]


def assert_told(ended: Ended, place: Path) -> None:
    """In one line, with nothing that was given up left behind."""
    assert ended.code == 1, ended
    assert "Traceback" not in ended.out + ended.err
    (line,) = ended.err.splitlines()
    assert line.startswith("error: outputs: the disk is full: ")
    assert str(place) in line
    assert "the same command goes on" in line
    assert not list(place.rglob("*.unfinished"))


FULL: dict[str, Callable[[pytest.MonkeyPatch, Path], None]] = {
    "before the start": lambda patch, place: fill(place),
    "at the settings": lambda patch, place: fill(place, leaving=4096),
    "at the first checkpoint": lambda patch, place: filled_at(
        patch, storing, "write_checkpoint", place
    ),
    "at the fourth checkpoint": lambda patch, place: filled_at(
        patch, storing, "write_checkpoint", place, 4
    ),
    "at the last checkpoint": lambda patch, place: filled_at(
        patch, storing, "write_checkpoint", place, 6
    ),
    "while a checkpoint is written": lambda patch, place: filled_at(patch, disk, "_sync", place, 9),
    "at what was asked": lambda patch, place: filled_at(
        patch, RunFolder, "write_evaluation", place
    ),
    "at the rows": lambda patch, place: filled_at(patch, RunFolder, "write_rows", place),
}


@pytest.mark.parametrize("moment", FULL)
def test_run_on_a_full_disk_goes_on_once_there_is_room(
    moment: str, small: Path, unbroken: RunFolder, monkeypatch: pytest.MonkeyPatch
):
    command = (*COMMAND, f"outputs={small / 'outputs'}")
    folder = RunFolder(small / "outputs" / unbroken.path.relative_to(unbroken.path.parents[2]))
    with monkeypatch.context() as patch:
        FULL[moment](patch, small)
        ended = run(*command)
    if moment == "while a checkpoint is written":
        assert ended.code in (0, 1)  # what was written by then may have been the last of it
    else:
        assert_told(ended, small)
    folder.status()
    assert folder.read_rows("lengths.csv") == [] or ended.code == 0
    step = read_checkpoint(folder.checkpoint)["global_step"] if folder.checkpoint.exists() else 0
    assert step == {"at the fourth checkpoint": 30, "at the last checkpoint": 50}.get(moment, step)
    (small / "filling").unlink()
    again = run(*command)
    assert again.code == 0
    assert (f"resumed at step {step}" in again.out) == (step > 0 and ended.code == 1)
    assert same_result(folder, unbroken)


@pytest.mark.parametrize("moment", ["log_metrics", "show", "close"])
def test_events_that_find_no_room_end_the_run_in_one_line(
    moment: str, small: Path, unbroken: RunFolder, monkeypatch: pytest.MonkeyPatch
):
    command = (*COMMAND, "logger=tensorboard", f"outputs={small / 'outputs'}")
    with monkeypatch.context() as patch:
        filled_at(patch, EventLog, moment, small, 25 if moment == "log_metrics" else 1)
        ended = run(*command)
    if moment == "close":
        assert ended.code == (1 if "disk is full" in ended.err else 0)
    else:
        assert_told(ended, small)
    (small / "filling").unlink()
    folder = RunFolder(only_run(small))
    done = status(folder.path)["status"] == "finished"
    assert done == (moment != "log_metrics")
    assert run(*command).code == 0
    assert status(folder.path)["published"]
    assert same_result(folder, unbroken)


def test_log_that_finds_no_room_is_told_and_the_result_is_kept(
    small: Path, unbroken: RunFolder, monkeypatch: pytest.MonkeyPatch
):
    command = (*COMMAND, f"outputs={small / 'outputs'}")
    assert run(*command).code == 0
    folder = RunFolder(only_run(small))
    log = folder.path / "train.log"
    with log.open("ab") as file:  # to the end of its block, so that a line more needs another
        file.write(b"x" * (-file.tell() % 4096))
    fill(small)
    assert_told(run(*command), small)
    (small / "filling").unlink()
    assert run(*command).code == 0
    assert same_result(folder, unbroken)


def test_earlier_result_and_other_runs_outlive_a_full_disk(small: Path, unbroken: RunFolder):
    command = (*COMMAND, f"outputs={small / 'outputs'}")
    assert run(*command).code == 0
    fill(small)
    assert_told(run(*command, "length.test=40"), small)
    assert_told(run(*command, "seed=1"), small)
    folder = RunFolder(only_run(small / "outputs"))
    assert same_result(folder, unbroken)
    assert status(folder.path)["status"] == "finished"
    out = ("--out", str(unbroken.path.parent))
    assert run(str(small / "outputs"), *out, script="scripts/report.py").code == 0


def test_full_disk_is_told_by_the_other_scripts(small: Path):
    assert run(*TINY, f"outputs={small / 'outputs'}").code == 0
    folder = only_run(small)
    fill(small)
    for script, arguments in {
        "evaluate": (f"run={folder}", "length.test=30"),
        "report": (str(small / "outputs"),),
        "show": ("encoding=alibi", "length=8", f"out={small / 'pictures'}"),
    }.items():
        ended = run(*arguments, script=f"scripts/{script}.py")
        assert ended.code in (1, 2)
        assert "No space left on device" in ended.err or "the disk is full" in ended.err
        assert "Traceback" not in ended.err
        assert len(ended.err.splitlines()) == 1
    assert not list(small.rglob("*.unfinished"))


def test_read_only_disk_is_refused_and_its_results_can_still_be_read(small: Path, tmp_path: Path):
    command = (*TINY, f"outputs={small / 'outputs'}")
    assert run(*command).code == 0
    folder = only_run(small)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    for arguments, script in (
        (command, "train.py"),
        ((*command, "seed=1"), "train.py"),
        ((f"run={folder}", "length.test=30"), "scripts/evaluate.py"),
        ((str(small),), "scripts/report.py"),
    ):
        ended = run(*arguments, script=script)
        assert ended.code in (1, 2)
        assert "Read-only file system" in ended.err.splitlines()[-1]
        assert "Traceback" not in ended.err + ended.out
    assert {path: path.read_bytes() for path in before} == before
    assert run(f"run={folder}", "prompt=the man bit the dog", script="scripts/show.py").code == 0
    assert run(str(small), "--out", str(tmp_path / "report"), script="scripts/report.py").code == 0


def test_folder_that_belongs_to_somebody_else_is_refused(tmp_path: Path):
    outputs = tmp_path / "outputs"
    outputs.mkdir(mode=0o555)
    command = [sys.executable, str(PROJECT / "train.py"), *TINY, f"outputs={outputs}"]
    if os.geteuid() == 0:  # who may write anywhere
        command = ["setpriv", "--bounding-set=-dac_override", *command]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: outputs: {outputs}/")
    assert "cannot be made or written (Permission denied)" in ended.stderr
    assert ended.stderr.endswith("set outputs= to a folder to write in\n")
    assert list(outputs.iterdir()) == []


@pytest.mark.parametrize("fails", ["write", "os.fsync", "pathlib.Path.replace"])
def test_file_that_cannot_be_finished_leaves_nothing(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(path: Path) -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            if fails == "write":
                full()

    path = tmp_path / "lengths.csv"
    path.write_text("whole")
    if fails != "write":
        monkeypatch.setattr(fails, full)
    with pytest.raises(OSError, match="No space"):
        write(path)
    assert [each.name for each in tmp_path.iterdir()] == ["lengths.csv"]
    assert path.read_text() == "whole"


def test_file_is_on_the_disk_before_it_has_its_name_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    order: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noting_sync(number: int) -> None:
        order.append(f"sync {os.readlink(f'/proc/self/fd/{number}')}")
        fsync(number)

    def noting_rename(self: Path, target: Path) -> Path:
        order.append(f"rename {self}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(Path, "replace", noting_rename)
    with replacing(tmp_path / "run.json") as unfinished:
        unfinished.write_text("{}")
    assert order == [f"sync {unfinished}", f"rename {unfinished}", f"sync {tmp_path}"]


def test_what_a_killed_run_left_half_written_is_cleared_by_the_next(tmp_path: Path):
    folder = RunFolder(tmp_path / "run")
    folder.checkpoint.parent.mkdir(parents=True)
    left = (
        folder.path / ".run.json.unfinished",
        folder.checkpoint.parent / ".last.ckpt.unfinished",
    )
    for path in left:
        path.write_bytes(b"half")
    with folder.locked():
        assert not any(path.exists() for path in left)


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.EDQUOT, "quota"), (errno.EROFS, "the disk is read-only"), (errno.EIO, "disk fails"),
     (errno.EACCES, "may not write")],
)  # fmt: skip
def test_other_faults_of_a_disk_are_told_in_one_line(
    number: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def failing(*_: Any) -> None:
        raise OSError(number, os.strerror(number), str(tmp_path / "somewhere"))

    monkeypatch.setattr(storing, "write_checkpoint", failing)
    ended = run(*TINY, f"outputs={tmp_path}")
    assert ended.code == 1
    (line,) = ended.err.splitlines()
    assert said in line
    assert f"{tmp_path}/somewhere" in line
    assert status(only_run(tmp_path))["status"] == "failed"


def test_error_of_the_program_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def failing(*_: Any) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file", "elsewhere")

    monkeypatch.setattr(storing, "write_checkpoint", failing)
    ended = run(*TINY, f"outputs={tmp_path}")
    assert ended.code == 1
    assert "Traceback" in ended.out
    assert "FileNotFoundError" in status(only_run(tmp_path))["traceback"]


def test_settings_of_a_run_may_not_be_refused_as_a_fault_of_the_disk():
    assert disk.fault(Path("run"), ConfigError("seed=-1")) is None
    assert disk.fault(Path("run"), OSError(errno.ENOSPC, "full")) is not None
