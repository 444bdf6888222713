"""How runs and sweeps stand, seen from outside while they go on and when they are over."""

import io
import itertools
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Ended, only_run, run, started, wait_until
from locks import held
from rich.console import Console

import posenc.scoring
from posenc.choosing import PROJECT
from posenc.results.records import RunFolder
from posenc.results.status_table import MOST, drawn
from posenc.results.sweep_status import look

SCRIPT = "scripts/status.py"
ENDLESS = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5")


def shown(*arguments: Any) -> str:
    ended = run(*map(str, arguments), script=SCRIPT)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def told(*arguments: Any) -> dict[str, Any]:
    return json.loads(shown(*arguments, "--format", "json"))


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return tmp_path / "outputs"


@pytest.fixture
def plant(outputs: Path) -> Callable[..., Path]:
    """Writes the run folder of a seed in some state; anything else stands in run.json, too."""

    def write(seed: int, state: str, **status: Any) -> Path:
        folder = RunFolder(outputs / "copy" / "encoder-rope-index" / f"seed{seed}-f0")
        folder.write_status(**{"status": state, "host": os.uname().nodename} | status)
        return folder.path

    return write


@pytest.fixture
def sweep(outputs: Path) -> Callable[..., Path]:
    """Writes the folder of a sweep over seeds: how each was planned, and the lines of what ended.

    A line is None for a job that finished, or its error.
    """

    def write(
        states: dict[int, str],
        lines: dict[int, str | None] | None = None,
        when: str = "2026-01-01_00-00-00_0",
    ) -> Path:
        folder = outputs / "sweeps" / when
        folder.mkdir(parents=True)
        jobs: list[dict[str, Any]] = [
            {
                "job": seed,
                "overrides": ["task=copy", f"seed={seed}"],
                "label": f"seed={seed}",
                "folder": None
                if state == "error"
                else str((outputs / "copy" / "encoder-rope-index" / f"seed{seed}-f0").resolve()),
                "state": state,
                "reason": "model.width=15: no" if state == "error" else None,
            }
            for seed, state in states.items()
        ]
        plan = {
            "command": "python train.py -m task=copy seed=0,1",
            "host": "here",
            "started": f"{when[:10]}T00:00:00+0000",
            "jobs": jobs,
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        with (folder / "jobs.jsonl").open("w") as journal:
            for seed, error in (lines or {}).items():
                line = {"job": seed, "overrides": [], "error": error, "seconds": 20.0}
                journal.write(json.dumps(line) + "\n")
        return folder

    return write


def test_every_state_is_counted_and_what_is_not_finished_is_listed(
    outputs: Path, plant: Callable[..., Path]
):
    plant(0, "finished")
    plant(1, "failed", traceback="Traceback\n  [/x]\nFloatingPointError: [bold] at step 50\n")
    plant(2, "interrupted")
    silent = plant(3, "running")
    os.utime(silent / "run.json", (time.time() - 600,) * 2)
    damaged = plant(4, "finished")
    (damaged / "run.json").write_text('{"schema": 1}')
    head, *lines = shown(outputs).splitlines()
    assert head == "5 runs: 1 finished, 1 failed, 1 interrupted, 1 lost, 1 unreadable"
    listed = [line.split() for line in lines if "/seed" in line]
    assert [cells[1] for cells in listed] == ["failed", "lost", "unreadable", "interrupted"]
    assert listed[0][0] == "copy/encoder-rope-index/seed1-f0"
    assert "FloatingPointError: [bold] at step 50" in "".join(lines)
    assert "silent for 10 min" in "".join(lines)
    assert "has schema 1, not 2: another version" in "".join(lines)
    assert "seed0" not in "".join(lines)
    assert "seed0" in shown(outputs, "--all")
    assert not list(outputs.rglob(".lock"))


def test_data_is_the_same_for_a_program(outputs: Path, plant: Callable[..., Path]):
    plant(0, "finished")
    folder = plant(1, "failed", traceback="ValueError: x")
    data = told(outputs)
    assert data["counts"] == {"finished": 1, "failed": 1}
    (failed,) = data["runs"]
    assert failed == {
        "run": "copy/encoder-rope-index/seed1-f0",
        "folder": str(folder.resolve()),
        "state": "failed",
        "reason": "ValueError: x",
        "host": os.uname().nodename,
        **dict.fromkeys(("stage", "step", "of", "steps_per_second", "seconds_left")),
    }
    assert len(told(outputs, "--all")["runs"]) == 2
    assert told(folder, outputs)["counts"] == data["counts"]


def test_more_runs_than_fit_are_counted(outputs: Path, plant: Callable[..., Path]):
    for seed in range(MOST + 3):
        plant(seed, "interrupted")
    assert "and 3 more interrupted; --all lists them" in shown(outputs)
    assert shown(outputs).count("/seed") == MOST
    assert shown(outputs, "--all").count("/seed") == MOST + 3


def test_nothing_yet_is_no_error_and_a_folder_that_is_not_there_is_one(outputs: Path):
    ended: Ended = run(str(outputs), script=SCRIPT)
    assert ended.code == 2
    assert ended.err == f"error: {outputs}: there is no such folder; name one that holds runs\n"
    outputs.mkdir()
    assert shown(outputs) == "0 runs\n"


def test_run_is_seen_while_it_trains_and_is_lost_when_it_is_killed(outputs: Path, tmp_path: Path):
    with started(*ENDLESS, f"outputs={outputs}", cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)

        def speed() -> Any:
            return told(outputs)["runs"][0]["steps_per_second"]

        wait_until(speed, process)
        data = told(outputs)
        assert data["counts"] == {"running": 1}
        (going,) = data["runs"]
        assert (going["stage"], going["of"]) == ("training", 1000000)
        assert going["step"] > 0
        left = (1000000 - going["step"]) / going["steps_per_second"]
        assert going["seconds_left"] == pytest.approx(left)
        assert f"/{10**6} " in shown(outputs)
        process.kill()
        process.wait()
    assert told(outputs)["counts"] == {"lost": 1}
    assert (only_run(outputs) / "progress.json").exists()
    assert run(*TINY, "trainer.max_steps=1000000", f"outputs={outputs}", "seed=x").code == 2
    assert told(outputs)["counts"] == {"lost": 1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_run_tells_how_far_it_came(number: int, outputs: Path, tmp_path: Path):
    with started(*ENDLESS, f"outputs={outputs}", cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("progress.json")), process)
        wait_until(lambda: told(outputs)["runs"][0]["step"], process)
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
    data = told(outputs)
    assert data["counts"] == {"interrupted": 1}
    (stopped,) = data["runs"]
    assert (stopped["stage"], stopped["of"]) == ("training", 10**6)
    assert stopped["step"] > 0
    assert (stopped["steps_per_second"], stopped["seconds_left"]) == (None, None)
    assert f"{stopped['step']}/{10**6} " in shown(outputs)


def test_finished_run_tells_its_mean_speed(outputs: Path, plant: Callable[..., Path]):
    plant(0, "finished", trained_steps=2000, train_seconds=16.0)
    plant(1, "finished", trained_steps="x")
    assert "steps/s" not in shown(outputs)
    head, _, *rows = shown(outputs, "--all").splitlines()[2:]
    assert head.split() == ["run", "state", "steps/s", "progress"]
    assert [row.split()[2] for row in rows[:2]] == ["125", "–"]
    speeds = [each["steps_per_second"] for each in told(outputs, "--all")["runs"]]
    assert speeds == [125.0, None]


def test_runs_of_several_places_are_told_apart(outputs: Path, plant: Callable[..., Path]):
    plant(0, "interrupted")
    assert " copy/encoder-rope-index/seed0-f0 " in shown(outputs)
    shutil.copytree(outputs / "copy", outputs / "t2" / "copy")
    names = [line.split()[0] for line in shown(outputs).splitlines() if "/seed" in line]
    assert names == ["copy/encoder-rope-index/seed0-f0", "t2/copy/encoder-rope-index/seed0-f0"]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_names_break_at_slashes_in_a_narrow_terminal(
    columns: int, outputs: Path, plant: Callable[..., Path]
):
    going = plant(0, "running", host="another")
    progress = {"stage": "training", "step": 604, "of": 1000, "steps_per_second": 61.3}
    (going / "progress.json").write_text(json.dumps(progress))
    plant(1, "failed", traceback="ValueError: the loss is nan at step 2", host="another")
    console = Console(width=columns, file=io.StringIO(), record=True)
    console.print(drawn(look([outputs])))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= columns
    (head,) = (line for line in lines if "progress" in line)
    names = [line[: head.index("state")].split() for line in lines[lines.index(head) + 2 :]]
    parts = list(itertools.chain(*names))
    assert "".join(parts) == "".join(f"copy/encoder-rope-index/seed{seed}-f0" for seed in (0, 1))
    assert {part[-1] for part in parts} == ({"0", "/"} if columns == 60 else {"0"})
    assert any("604/1000" in line for line in lines)


def test_evaluation_is_seen_length_by_length(monkeypatch: pytest.MonkeyPatch, outputs: Path):
    by_length, seen = posenc.scoring.by_length, []

    def seeing(net: Any, task: Any, positions: Any, lengths: Any, **settings: Any) -> Any:
        def looked() -> Iterator[int]:
            for length in lengths:
                seen.append((length, json.loads((only_run(outputs) / "progress.json").read_text())))
                yield length

        return by_length(net, task, positions, looked(), **settings)

    monkeypatch.setattr(posenc.scoring, "by_length", seeing)
    assert run(*TINY, f"outputs={outputs}").code == 0
    assert [length for length, _ in seen] == [5, 10, 15, 20, 24]
    assert seen[0][1] == {"stage": "evaluating", "step": 0, "of": 5, "length": 5}
    assert told(outputs)["counts"] == {"finished": 1}
    assert not list(outputs.rglob("*progress*"))


def test_failed_run_tells_why_and_leaves_no_progress(outputs: Path):
    command = (*TINY, f"outputs={outputs}", "optimizer.lr=1e30", "trainer.log_every_n_steps=1")
    assert run(*command).code == 1
    (failed,) = told(outputs)["runs"]
    assert failed["state"] == "failed"
    assert failed["reason"].startswith("FloatingPointError: the ")
    assert not list(outputs.rglob("*progress*"))


def test_run_that_cannot_tell_its_progress_goes_on(outputs: Path):
    assert run(*TINY, f"outputs={outputs}").code == 0
    folder = RunFolder(only_run(outputs))
    folder.clear()
    (folder.path / "progress.json" / "in the way").mkdir(parents=True)
    assert run(*TINY, f"outputs={outputs}").code == 0
    assert folder.status()["status"] == "finished"
    log = (folder.path / "train.log").read_text()
    assert log.count("scripts/status.py cannot see how far this run is") == 2  # for each stage


def test_sweep_that_goes_on_has_jobs_that_wait_and_a_time_left(
    outputs: Path, plant: Callable[..., Path], sweep: Callable[..., Path]
):
    for seed in (0, 1):
        plant(seed, "finished")
    plant(2, "failed", traceback="ValueError: before")
    plant(5, "failed", traceback="ValueError: now")
    states = {0: "done", 1: "todo", 2: "todo", 3: "todo", 4: "error", 5: "todo"}
    folder = sweep(states, {1: None, 5: "ValueError: now"})
    with held(folder / ".lock"):
        head, _, line, command, *table = shown(outputs).splitlines()
        (data,) = told(outputs)["sweeps"]
    assert head == "6 runs: 2 finished, 2 waiting, 2 failed"
    assert line == (
        "sweep 2026-01-01_00-00-00_0 on here: 6 runs: 2 finished, 2 waiting, 2 failed; "
        "about 40 s left"
    )
    assert command == "  python train.py -m task=copy seed=0,1"
    assert data["alive"] is True
    assert data["seconds_left"] == 40
    listed = [line.split() for line in table if "seed" in line]
    assert [(cells[0][-8:], cells[1]) for cells in listed] == [
        ("seed5-f0", "failed"),
        ("seed=4", "failed"),
        ("seed2-f0", "waiting"),
        ("seed3-f0", "waiting"),
    ]
    assert "model.width=15: no" in " ".join(listed[1])


def test_rest_of_what_runs_counts_in_the_time_left(
    outputs: Path, plant: Callable[..., Path], sweep: Callable[..., Path]
):
    plant(0, "finished")
    for seed in (1, 2):
        with (plant(seed, "running", host="another") / "progress.json").open("w") as file:
            json.dump({"stage": "training", "step": 500, "of": 2000, "steps_per_second": 50}, file)
    with held(sweep(dict.fromkeys(range(5), "todo"), {0: None}) / ".lock"):
        (data,) = told(outputs)["sweeps"]
    assert data["counts"] == {"finished": 1, "running": 2, "waiting": 2}
    assert data["seconds_left"] == 20 * (2 + 2 * 0.75) / 2


def test_sweep_that_was_killed_shows_what_did_not_run_until_it_has(
    outputs: Path, plant: Callable[..., Path], sweep: Callable[..., Path]
):
    plant(0, "finished")
    sweep({0: "todo", 1: "todo", 2: "todo"}, {0: None})
    head, _, line, *_ = shown(outputs).splitlines()
    assert head == "3 runs: 1 finished, 2 not run"
    assert line.endswith(": 3 runs: 1 finished, 2 not run; the same command does the rest")

    new = sweep({0: "done", 1: "todo", 2: "todo"}, {1: None}, when="2026-01-02_00-00-00_0")
    plant(1, "finished")
    with held(new / ".lock"):
        data = told(outputs)
    assert data["counts"] == {"finished": 2, "waiting": 1}
    assert [Path(each["folder"]).name for each in data["sweeps"]] == [new.name]
    plant(2, "finished")
    assert told(outputs)["sweeps"] == []


def test_finished_run_that_is_to_answer_more_speaks_for_one_job_alone(
    outputs: Path, plant: Callable[..., Path], sweep: Callable[..., Path]
):
    folder = sweep(dict.fromkeys(range(3), "todo"), {0: None})
    path, plan = plant(0, "finished"), json.loads((folder / "plan.json").read_text())
    for job in plan["jobs"]:
        job["folder"] = str(path.resolve())
    (folder / "plan.json").write_text(json.dumps(plan))
    with held(folder / ".lock"):
        data = told(outputs)
    assert data["sweeps"][0]["counts"] == {"finished": 1, "waiting": 2}
    assert data["counts"] == {"finished": 1}


def test_sweep_that_plans_nothing_beforehand_counts_what_ended_while_it_goes_on(
    outputs: Path, plant: Callable[..., Path], sweep: Callable[..., Path]
):
    folder = sweep({}, {0: None, 1: "ValueError: x"})
    plant(0, "finished")
    plant(1, "failed", traceback="ValueError: x")
    with held(folder / ".lock"):
        data = told(outputs)
    (going,) = data["sweeps"]
    assert going["counts"] == data["counts"] == {"finished": 1, "failed": 1}
    assert going["seconds_left"] is None
    assert told(outputs)["sweeps"] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [("plan.json", "{"), ("plan.json", "{}"), ("plan.json", "[1]"), ("jobs.jsonl", "x\n")],
)
def test_damaged_sweep_is_named(name: str, content: str, outputs: Path, sweep: Callable[..., Path]):
    (sweep({0: "todo"}) / name).write_text(content)
    assert "sweep 2026-01-01_00-00-00_0: cannot be read (" in shown(outputs)


def test_older_sweeps_have_no_plan_and_are_left_alone(outputs: Path):
    (outputs / "sweeps" / "old").mkdir(parents=True)
    (outputs / "sweeps" / "old" / "jobs.jsonl").write_text("{}\n")
    assert shown(outputs) == "0 runs\n"


def watching(outputs: Path, *options: str, out: Any) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROJECT / SCRIPT), str(outputs), "--watch", *options]
    return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)


def test_watching_goes_on_until_it_is_stopped(outputs: Path, plant: Callable[..., Path]):
    plant(0, "finished")
    with watching(outputs, "--format", "json", out=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["counts"] == {"finished": 1}
        plant(1, "interrupted")
        assert json.loads(process.stdout.readline())["counts"]["interrupted"] == 1
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == ""
    assert process.returncode == 130


def test_watching_on_a_terminal_draws_over_what_it_drew(outputs: Path, plant: Callable[..., Path]):
    plant(0, "running", host="another")
    ours, theirs = pty.openpty()
    with watching(outputs, out=theirs) as process:
        os.close(theirs)
        drawn = b""
        while drawn.count(b"running") < 4:  # a head and a row, twice
            drawn += os.read(ours, 1024)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == ""
    os.close(ours)
    assert process.returncode == 130
    assert b"\x1b[1A" in drawn  # up again


def test_it_starts_without_heavy_libraries(outputs: Path):
    outputs.mkdir()
    program = (
        "import runpy, sys; sys.argv[1:] = sys.argv[2:];"
        f"runpy.run_path({str(PROJECT / SCRIPT)!r}, run_name='__main__');"
        "sys.exit(any(name in sys.modules for name in ('torch', 'polars', 'scipy', 'altair')))"
    )
    assert subprocess.run([sys.executable, "-c", program, "", str(outputs)]).returncode == 0
