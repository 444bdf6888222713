"""A sweep does every job it can, says what became of each, and can itself be stopped."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, run, runs, started, status, wait_until
from tensorboard.backend.event_processing.io_wrapper import GetLogdirSubdirectories

import posenc.run
from posenc.schema import Config


@pytest.mark.parametrize("error", [RuntimeError("spoilt"), SystemExit(0)])
def test_job_that_breaks_stops_no_other(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fit = posenc.run._fit

    def breaking(config: Config, *arguments: Any, **settings: Any) -> Any:
        if config.seed == 1:
            raise error
        return fit(config, *arguments, **settings)

    monkeypatch.setattr(posenc.run, "_fit", breaking)
    ended = run("-m", *TINY, f"outputs={tmp_path}", "seed=0,1,2")
    assert ended.code == 1
    ends = {folder.name[:5]: status(folder) for folder in runs(tmp_path)}
    assert [end["status"] for end in ends.values()] == ["finished", "failed", "finished"]
    assert type(error).__name__ in ends["seed1"]["traceback"]
    summary = ended.err[ended.err.index("2 of 3 jobs finished") :].splitlines()
    assert summary[1].startswith("  #1 ")
    assert "seed=1" in summary[1]
    assert type(error).__name__ in summary[1]
    assert len(summary) == 3

    monkeypatch.undo()
    again = run("-m", *TINY, f"outputs={tmp_path}", "seed=0,1,2")
    assert again.code == 0
    assert again.out.count("already trained") == 2
    assert "3 of 3 jobs finished" in again.err


def test_job_that_cannot_work_is_listed_and_leaves_no_folder(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "model.width=15,16", "encoding=none,rope")
    assert ended.code != 0
    assert len(runs(tmp_path)) == 2
    assert "2 of 4 jobs finished" in ended.err
    failures = [line for line in ended.err.splitlines() if line.startswith("  #")]
    assert [line.split()[0] for line in failures] == ["#0", "#1"]
    assert all("model.width=15 is not divisible by model.heads=2" in line for line in failures)


def test_misspelt_sweep_starts_no_job(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "encoding=none,rpoe")
    assert ended.code == 2
    assert "encoding=rpoe" in ended.err.splitlines()[-1]
    assert runs(tmp_path) == []


def test_every_job_is_one_run_of_tensorboard(tmp_path: Path):
    assert run("-m", *TINY, f"outputs={tmp_path}", "seed=0,1", "logger=tensorboard").code == 0
    shown = sorted(Path(path) for path in GetLogdirSubdirectories(str(tmp_path)))
    assert shown == runs(tmp_path)
    assert len(shown) == 2


def test_sweep_over_what_is_asked_trains_once_and_says_so(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "eval.seed=0,1,2")
    assert ended.code == 0
    (folder,) = runs(tmp_path)
    assert ended.out.count("already trained") == 2
    assert len(list(folder.glob("lengths*.csv"))) == 3


def test_journal_tells_what_every_job_was(tmp_path: Path):
    run("-m", *TINY, f"outputs={tmp_path}", "seed=3,4")
    (journal,) = (tmp_path / "sweeps").glob("*/jobs.jsonl")
    jobs = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [job["job"] for job in jobs] == [0, 1]
    assert [job["overrides"][-1] for job in jobs] == ["seed=3", "seed=4"]
    assert [job["error"] for job in jobs] == [None, None]


def test_experiment_is_a_sweep_that_the_command_line_can_narrow(tmp_path: Path):
    wanted = ("experiment=who_bit_whom", "encoding=none,rope", "seed=5")
    ended = run(*TINY, f"outputs={tmp_path}", *wanted)
    assert ended.code == 0
    assert "2 of 2 jobs finished" in ended.err
    names = {(folder.parent.name, folder.name[:5]) for folder in runs(tmp_path)}
    assert names == {("encoder-none-index", "seed5"), ("encoder-rope-index", "seed5")}


def test_sigterm_ends_the_whole_sweep(tmp_path: Path):
    outputs = tmp_path / "outputs"
    endless = (*TINY, "trainer.max_steps=1000000", "checkpoint.every=5", f"outputs={outputs}")
    with started("-m", *endless, "seed=0,1", cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert "stopped: 0 jobs had finished; the same command" in (tmp_path / "output").read_text()
    (folder,) = runs(outputs)
    assert folder.name.startswith("seed0-")
    assert status(folder)["status"] == "interrupted"
