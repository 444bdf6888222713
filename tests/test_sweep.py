"""A sweep does every job it can, says what became of each, and can itself be stopped."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, run, runs, started, status, wait_until
from tensorboard.backend.event_processing.io_wrapper import GetLogdirSubdirectories

import posenc.run
from posenc.results.sweeps import SweepFolder
from posenc.schema import Config


@pytest.mark.parametrize("error", [RuntimeError("spoilt"), SystemExit(0)])
def test_job_that_breaks_stops_no_other_and_is_tried_again(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fit = posenc.run.fit

    def breaking(config: Config, *arguments: Any, **settings: Any) -> Any:
        if config.seed == 1:
            raise error
        return fit(config, *arguments, **settings)

    monkeypatch.setattr(posenc.run, "fit", breaking)
    command = ("-m", *TINY, f"outputs={tmp_path}", "seed=0,1,2")
    ended = run(*command)
    assert ended.code == 1
    ends = {folder.name[:5]: status(folder) for folder in runs(tmp_path)}
    assert [end["status"] for end in ends.values()] == ["finished", "failed", "finished"]
    assert type(error).__name__ in ends["seed1"]["traceback"]
    assert "Traceback" not in ended.err
    said = ended.err.splitlines()
    assert said[0].startswith("3 runs: 3 to do, 1 at a time; scripts/status.py")
    _, failed, last = said[said.index("3 runs: 2 finished, 1 failed") :]
    assert failed.startswith("  failed  seed=1: ")
    assert type(error).__name__ in failed
    assert last == "error: 1 of 3 runs failed; the same command tries them again"

    monkeypatch.undo()
    again = run(*command)
    assert again.code == 0
    assert again.err.startswith("3 runs: 2 done already, 1 to do, 1 at a time")
    assert "3 runs: 3 finished" in again.err

    monkeypatch.setattr(posenc.run, "train", None)
    done = run(*command)
    assert done.code == 0
    assert done.err.splitlines() == ["3 runs: 3 done already", "3 runs: 3 finished"]


def test_redone_where_told_so(tmp_path: Path):
    command = ("-m", *TINY, f"outputs={tmp_path}", "seed=0,1")
    assert run(*command).code == 0
    made = [(folder / "checkpoints" / "last.ckpt").stat().st_mtime_ns for folder in runs(tmp_path)]
    again = run(*command, "overwrite=true")
    assert "2 runs: 2 to do" in again.err
    for folder, before in zip(runs(tmp_path), made, strict=True):
        assert (folder / "checkpoints" / "last.ckpt").stat().st_mtime_ns > before


def test_what_cannot_work_is_listed_begins_nothing_and_stops_no_other(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "model.width=15,16", "encoding=none,rope")
    assert ended.code == 1
    head, *listed = ended.err.splitlines()[:3]
    assert head.startswith("4 runs: 2 cannot work, 2 to do")
    assert all(line.startswith("  cannot work  model.width=15 ") for line in listed)
    assert ended.err.endswith(
        "error: 2 of 4 runs cannot work; mend their settings, or leave them out\n"
    )
    assert len(runs(tmp_path)) == 2
    failures = [line for line in ended.err.splitlines() if line.startswith("  failed")]
    assert len(failures) == 2
    assert all("model.width=15 is not divisible by model.heads=2" in line for line in failures)


def test_sweep_of_which_nothing_can_work_leaves_nothing(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path / 'outputs'}", "model.width=15,17")
    assert ended.code == 2
    assert ended.err.splitlines()[-1].startswith("error: model.width=15 is not divisible")
    assert not (tmp_path / "outputs").exists()


def test_misspelt_sweep_starts_no_job(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "encoding=none,rpoe")
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert "encoding=rpoe" in line
    assert runs(tmp_path) == []


def test_setting_that_is_the_reason_is_told_once(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "seed=0,x")
    assert ended.code == 1
    assert ended.err.splitlines()[1] == "  cannot work  seed=x: must be of type int"
    assert "  failed  seed=x: must be of type int" in ended.err.splitlines()


def test_planning_of_many_runs_is_told(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "seed=range(21)", "model.width=15")
    assert ended.code == 2
    first, last = ended.err.splitlines()[0], ended.err.splitlines()[-1]
    assert first == "21 runs: planning"
    assert last.startswith("error: model.width=15")


def test_every_job_is_one_run_of_tensorboard(tmp_path: Path):
    assert run("-m", *TINY, f"outputs={tmp_path}", "seed=0,1", "logger=tensorboard").code == 0
    shown = sorted(Path(path) for path in GetLogdirSubdirectories(str(tmp_path)))
    assert shown == runs(tmp_path)
    assert len(shown) == 2


def test_sweep_over_what_is_asked_trains_once_and_says_so(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "eval.seed=0,1,2")
    assert ended.code == 0
    (folder,) = runs(tmp_path)
    assert len(list(folder.glob("lengths*.csv"))) == 3
    assert ended.err.count("seed=") == 3


@pytest.mark.parametrize("launcher", ["serial", "joblib"])
def test_jobs_of_one_run_wait_for_each_other_and_discard_nothing(launcher: str, tmp_path: Path):
    command = (*TINY, f"outputs={tmp_path}", "eval.seed=0,1,2", "overwrite=true")
    with started("-m", *command, f"launcher={launcher}", cwd=tmp_path) as process:
        assert process.wait(timeout=120) == 0
    (folder,) = runs(tmp_path)
    assert len(list(folder.glob("lengths*.csv"))) == 3


@pytest.mark.parametrize("text", ["garbage", "", "task,model\n"])
def test_damaged_rows_are_named_and_not_taken_for_done(text: str, tmp_path: Path):
    command = ("-m", *TINY, f"outputs={tmp_path}", "seed=0,1")
    assert run(*command).code == 0
    (runs(tmp_path)[0] / "lengths.csv").write_text(text)
    ended = run(*command)
    assert ended.code == 1
    assert "2 runs: 1 done already, 1 to do" in ended.err
    assert f"{runs(tmp_path)[0] / 'lengths.csv'} is damaged" in ended.err


def test_setting_that_follows_the_seed_is_planned_with_it(tmp_path: Path):
    command = ("-m", *TINY, f"outputs={tmp_path}", "seed=0,1")
    assert run(*command).code == 0
    following = run(*command, "eval.seed=${seed}")
    assert following.code == 0
    assert "2 runs: 1 done already, 1 to do" in following.err
    assert "2 runs: 2 done already" in run(*command, "eval.seed=${seed}").err


@pytest.mark.parametrize(
    "given", ["launcher=serial,joblib", "outputs=/tmp/a,/tmp/b", "experiment=three_tasks,tune"]
)
def test_sweep_has_one_way_to_run(given: str, tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", given)
    assert ended.code == 2
    assert f"one sweep can have one {given.partition('=')[0]}" in ended.err.splitlines()[-1]
    assert runs(tmp_path) == []


def test_sweep_that_cannot_be_kept_begins_no_run(tmp_path: Path):
    (tmp_path / "sweeps").touch()
    ended = run("-m", *TINY, f"outputs={tmp_path}", "seed=0,1")
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("error: outputs: ")
    assert str(tmp_path / "sweeps") in line
    assert "cannot be made or written (Not a directory)" in line
    assert runs(tmp_path) == []


def test_run_that_is_named_twice_is_one_run(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "seed=0,00", "encoding=none,none")
    assert ended.err.startswith("4 runs: 1 to do, 1 at a time, 3 named twice")
    assert "1 run: 1 finished" in ended.err
    assert len(runs(tmp_path)) == 1


def test_plan_and_journal_tell_what_every_job_is(tmp_path: Path):
    run("-m", *TINY, f"outputs={tmp_path}", "seed=3")
    run("-m", *TINY, f"outputs={tmp_path}", "model.width=16,15", "seed=3,4")
    sweep = SweepFolder(max((tmp_path / "sweeps").iterdir()))
    plan = sweep.plan()
    assert plan["command"].endswith("model.width=16,15 seed=3,4")
    assert [job["job"] for job in plan["jobs"]] == [0, 1, 2, 3]
    assert [job["state"] for job in plan["jobs"]] == ["todo", "done", "error", "error"]
    assert [job["label"] for job in plan["jobs"]][:2] == [
        "model.width=16 seed=4",
        "model.width=16 seed=3",
    ]
    folders = {job["folder"] for job in plan["jobs"]}
    assert folders == {None, *map(str, runs(tmp_path))}
    (ended,) = sweep.ended()
    assert (ended["job"], ended["error"], ended["rows"]) == (0, None, "lengths.csv")
    assert ended["folder"] == plan["jobs"][0]["folder"]
    assert ended["seconds"] > 0


def test_table_sums_up_the_seeds_of_a_setup(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "encoding=none,rope", "seed=0,1")
    lines = [line.split() for line in ended.out.splitlines() if "encoding=" in line]
    assert [line[:3] for line in lines] == [
        ["encoding=none", "2/2", "0/2"],
        ["encoding=rope", "2/2", "0/2"],
    ]
    assert "holds to" in ended.out


def test_experiment_is_a_sweep_that_the_command_line_can_narrow(tmp_path: Path):
    wanted = ("experiment=raw_index", "task=who_bit_whom", "encoding=none,rope", "seed=5")
    ended = run(*TINY, f"outputs={tmp_path}", *wanted)
    assert ended.code == 0
    assert "2 runs: 2 finished" in ended.err
    names = {(folder.parent.name, folder.name[:5]) for folder in runs(tmp_path)}
    assert names == {("encoder-none-index", "seed5"), ("encoder-rope-index", "seed5")}


def test_grids_are_combined_with_what_the_command_line_lists(tmp_path: Path):
    grids = "sweeper.grids=[{encoding:'none,rope'},{encoding:alibi,model:decoder}]"
    command = ("-m", *TINY, f"outputs={tmp_path}", grids)
    ended = run(*command, "seed=0,1")
    assert ended.code == 0
    assert "6 runs: 6 finished" in ended.err
    names = ("encoder-none-index", "encoder-rope-index", "decoder-alibi-index")
    wanted = {(name, f"seed{seed}") for name in names for seed in (0, 1)}
    assert {(folder.parent.name, folder.name[:5]) for folder in runs(tmp_path)} == wanted

    narrowed = run(*command, "encoding=rope", "seed=0")
    assert "2 runs: 1 done already, 1 to do" in narrowed.err
    assert any(folder.parent.name == "decoder-rope-index" for folder in runs(tmp_path))


@pytest.mark.parametrize(
    ("given", "told"),
    {
        "3": "3",
        "[rope]": "['rope']",
        "null": "None",
        "[]": "[]",
        "[{encoding:[none,rope]}]": "[{'encoding': ['none', 'rope']}]",
        "[{length:{min:1}}]": "[{'length': {'min': 1}}]",
    }.items(),
)
def test_grids_that_are_none_are_refused(given: str, told: str, tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", f"sweeper.grids={given}", "seed=0,1")
    assert ended.code == 2
    assert ended.err.startswith(f"error: sweeper.grids={told}: must be a list of mappings")


def test_a_grid_that_would_be_ignored_is_refused(tmp_path: Path):
    ended = run("experiment=parity", "hydra.mode=RUN", f"outputs={tmp_path / 'outputs'}")
    assert ended.code == 2
    assert ended.err.startswith("error: hydra.sweeper.params: is for a sweep; put -m first")
    assert not (tmp_path / "outputs").exists()


def test_grids_of_a_single_run_are_refused(tmp_path: Path):
    ended = run(*TINY, f"outputs={tmp_path / 'outputs'}", "sweeper.grids=[{encoding:rope}]")
    assert ended.code == 2
    assert ended.err == "error: sweeper.grids: put -m first to run several\n"
    assert not (tmp_path / "outputs").exists()


ENDLESS = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize(("launcher", "at_once"), [("serial", 1), ("joblib", 2)])
def test_signal_ends_the_whole_sweep_and_loses_nothing(
    launcher: str, at_once: int, number: int, code: int, tmp_path: Path
):
    outputs = tmp_path / "outputs"
    command = (*ENDLESS, f"outputs={outputs}", "seed=range(5)", f"launcher={launcher}")
    own = ("launcher.jobs=2",) if launcher == "joblib" else ()
    with started("-m", *command, *own, cwd=tmp_path) as process:
        wait_until(lambda: len(list(outputs.rglob("last.ckpt"))) == at_once, process)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        assert process.wait(timeout=60) == code
    said = (tmp_path / "output").read_text()
    assert f"5 runs: {at_once} interrupted, {5 - at_once} not run" in said
    assert said.count("  not run  seed=") == 5 - at_once
    assert "Traceback" not in said
    assert [status(folder)["status"] for folder in runs(outputs)] == ["interrupted"] * at_once
    for folder in runs(outputs):
        assert "the same command goes on from here" in (folder / "train.log").read_text()


@pytest.mark.slow
def test_worker_that_the_system_kills_ends_the_sweep_and_the_same_command_does_the_rest(
    tmp_path: Path,
):
    outputs = tmp_path / "outputs"
    steps = (*TINY, "trainer.max_steps=500", "checkpoint.every=5")
    command = (*steps, f"outputs={outputs}", "seed=range(4)", "launcher=joblib", "launcher.jobs=2")
    with started("-m", *command, cwd=tmp_path) as process:
        wait_until(lambda: len(list(outputs.rglob("last.ckpt"))) == 2, process)
        os.kill(_workers(process.pid)[0], signal.SIGKILL)
        assert process.wait(timeout=60) == 1
    said = (tmp_path / "output").read_text()
    assert "4 runs: 4 not run" in said
    assert "error: the sweep broke off (TerminatedWorkerError" in said
    assert said.rstrip().endswith("the same command goes on")
    assert "Traceback" not in said
    broken = [status(folder)["status"] for folder in runs(outputs)]
    assert broken == ["running"] * 2
    assert "4 runs: 2 lost, 2 not run" in run(str(outputs), script="scripts/status.py").out
    with started("-m", *command, cwd=tmp_path) as process:
        assert process.wait(timeout=120) == 0
    assert [status(folder)["status"] for folder in runs(outputs)] == ["finished"] * 4
    resumed = [status(folder)["resumed_from"] > 0 for folder in runs(outputs)]
    assert sum(resumed) == 2


def test_the_same_sweep_twice_at_once_does_no_run_twice(tmp_path: Path):
    outputs = tmp_path / "outputs"
    command = ("-m", *ENDLESS, f"outputs={outputs}", "seed=0,1")
    with started(*command, cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)
        ended = run(*command, "trainer.max_steps=1000000", "seed=0")
        assert ended.code == 1
        assert "1 run: 1 going on elsewhere" in ended.err
        assert "this very run is going on right now" in ended.err
        assert process.poll() is None
        process.terminate()
        assert process.wait(timeout=60) == 143
    told = json.loads(run(str(outputs), "--format", "json", script="scripts/status.py").out)
    first, second = (sweep["counts"] for sweep in told["sweeps"])
    assert first == told["counts"] == {"interrupted": 1, "not run": 1}
    assert second == {"interrupted": 1}  # as the run is, whoever was at it


def _workers(pid: int) -> list[int]:
    """Processes of joblib below another."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if "popen_loky" in Path(f"/proc/{child}/cmdline").read_text()
    ]
