"""No two processes do the same run at once, on one host or on several, or they are told so."""

import errno
import fcntl
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Ended, only_run, run, runs, started, status

from posenc.choosing import PROJECT
from posenc.errors import Busy, ConfigError
from posenc.results import progress
from posenc.results.records import SILENT, RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def failing_with(number: int) -> Any:
    def lockf(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    return lockf


def refused(*command: str) -> str:
    ended: Ended = run(*command)
    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    return line


@pytest.mark.parametrize("number", [errno.EACCES, errno.EAGAIN])
def test_lock_that_another_process_holds_is_busy(
    number: int, folder: RunFolder, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fcntl, "lockf", failing_with(number))
    with pytest.raises(Busy, match="this very run is going on right now in"), folder.locked():
        pass


@pytest.mark.parametrize(
    "number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL]
)
def test_file_system_without_locks_is_refused(
    number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(fcntl, "lockf", failing_with(number))
    line = refused(*TINY, f"outputs={tmp_path}")
    assert f"the file system of {tmp_path}" in line
    assert "has no locks" in line
    assert "outputs=" in line
    assert runs(tmp_path) == []


def alive_at(host: str, folder: RunFolder, *, age: float, sign: str = "progress.json") -> None:
    """What a process on another host, whose lock is not seen here, leaves while it runs."""
    folder.write_status(status="running", host=host)
    now = time.time()
    for name, seconds in {"run.json": age if sign == "run.json" else 9999, sign: age}.items():
        path = folder.path / name
        path.touch()
        os.utime(path, (now - seconds, now - seconds))


@pytest.mark.parametrize("sign", ["progress.json", "run.json"])
@pytest.mark.parametrize("age", [0, 30, SILENT - 10, -30])
def test_run_that_shows_signs_of_life_at_another_host_is_busy(
    sign: str, age: float, folder: RunFolder
):
    alive_at("n17", folder, age=age, sign=sign)
    left = r"try again in \d+ s"
    with pytest.raises(Busy, match=rf"going on at n17 in {folder.path}; .*{left}"), folder.locked():
        pass
    assert progress.last_sign(folder.path) > 0 or sign == "run.json"  # nothing of it was touched


@pytest.mark.parametrize("sign", ["progress.json", "run.json"])
def test_run_that_fell_silent_at_another_host_is_taken_up(sign: str, folder: RunFolder):
    alive_at("n17", folder, age=SILENT + 5, sign=sign)
    with folder.locked():
        assert not (folder.path / "progress.json").exists()


@pytest.mark.parametrize("ended", ["finished", "failed", "interrupted"])
def test_run_that_ended_at_another_host_is_nobodys(ended: str, folder: RunFolder):
    alive_at("n17", folder, age=0)
    folder.write_status(status=ended)
    with folder.locked():
        pass


def test_run_that_was_killed_on_this_host_is_taken_up_at_once(folder: RunFolder):
    alive_at(platform.node(), folder, age=0)
    with folder.locked():
        pass


def test_clock_is_that_of_the_file_system(folder: RunFolder, monkeypatch: pytest.MonkeyPatch):
    """Clocks of hosts differ; that of the file server is common to them."""
    alive_at("n17", folder, age=10)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    with pytest.raises(Busy), folder.locked():
        pass


def test_status_that_cannot_be_read_is_told_by_whoever_needs_it(folder: RunFolder):
    folder.path.mkdir()
    (folder.path / "run.json").write_text("{")
    with folder.locked(), pytest.raises(ConfigError, match=r"run\.json cannot be read"):
        folder.status()


def test_command_is_told_where_its_run_goes_on(tmp_path: Path):
    command = (*TINY, f"outputs={tmp_path}")
    assert run(*command).code == 0
    folder = RunFolder(only_run(tmp_path))
    rows = (folder.path / "lengths.csv").read_bytes()
    alive_at("n17", folder, age=0)
    for own in ((), ("overwrite=true",), ("length.test=30",)):
        assert "this very run is going on at n17" in refused(*command, *own)
    assert (folder.path / "lengths.csv").read_bytes() == rows
    assert status(folder.path)["status"] == "running"


@pytest.mark.parametrize("own", [("seed=0", "seed=1"), ("seed=0", "seed=0")])
def test_two_commands_in_the_same_second(own: tuple[str, str], tmp_path: Path):
    """Two runs have two folders; of one run one process does all and the other is told so."""
    command = [sys.executable, str(PROJECT / "train.py"), *TINY, f"outputs={tmp_path}"]
    command += ["trainer.max_steps=300", "eval.probe_every=300"]
    both = [
        subprocess.Popen(
            [*command, each], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for each in own
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert len(runs(tmp_path)) == len(set(own))
    assert all(status(folder)["status"] == "finished" for folder in runs(tmp_path))
    if len(set(own)) == 2:
        assert codes == [0, 0]
    else:
        assert codes in ([0, 2], [0, 0])  # the second may begin when the first has ended
        assert ("going on right now" in "".join(said)) == (codes == [0, 2])


def test_second_process_waits_for_nothing_and_leaves_the_first_alone(tmp_path: Path):
    endless = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5", f"outputs={tmp_path}")
    with started(*endless, cwd=tmp_path) as process:
        while not list(tmp_path.rglob("progress.json")):
            assert process.poll() is None
            time.sleep(0.01)
        (sign,) = tmp_path.rglob("progress.json")
        assert "this very run is going on right now" in refused(*endless)
        assert sign.exists()
        assert process.poll() is None
