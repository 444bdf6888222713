"""A run is done once: repeated it is skipped, broken off it goes on, asked anew it only answers."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import TINY, Ended, only_run, rows, run, runs, status
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import posenc
import posenc.run
import posenc.scoring
from posenc.errors import Interrupted
from posenc.model.transformer import Transformer
from posenc.results.records import COLUMNS, RunFolder
from posenc.tasks.who_bit_whom import WhoBitWhom

ALL_RANDOM = ("model.dropout=0.1", "positions=random", "trainer.accumulate_grad_batches=2")
"""Whatever draws at random does, so that a run that went on from elsewhere would show."""


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., Ended]:
    def tiny(*overrides: str) -> Ended:
        return run(*TINY, f"outputs={tmp_path / 'outputs'}", *overrides)

    return tiny


def weights(folder: Path) -> dict[str, torch.Tensor]:
    checkpoint = torch.load(folder / "checkpoints" / "last.ckpt", weights_only=True)
    return checkpoint["state_dict"]


def same_result(left: Path, right: Path) -> bool:
    ours, theirs = weights(left), weights(right)
    alike = ours.keys() == theirs.keys() and all(ours[k].equal(theirs[k]) for k in ours)
    return alike and (left / "lengths.csv").read_bytes() == (right / "lengths.csv").read_bytes()


def break_at(batch: int, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Lets the task fail when it is asked for training batch number `batch`, once."""
    sample, left = WhoBitWhom.sample, iter(range(batch))

    def breaking(self: WhoBitWhom, n: int, length: int, generator: torch.Generator) -> Any:
        if n == 8 and next(left, None) is None:
            monkeypatch.undo()
            raise error
        return sample(self, n, length, generator)

    monkeypatch.setattr(WhoBitWhom, "sample", breaking)


def test_folder_of_a_finished_run_holds_all_that_is_needed(train, tmp_path: Path):
    assert train("logger=tensorboard").code == 0
    folder = only_run(tmp_path)
    names = {path.name for path in folder.iterdir() if not path.name.startswith("events.out.")}
    assert names == {".lock", "checkpoints", "config.yaml", "lengths.csv", "run.json", "train.log"}
    assert len(list(folder.iterdir())) == len(names) + 1
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["last.ckpt"]

    kept = status(folder)
    assert kept["status"] == "finished"
    assert kept["posenc"] == posenc.__version__
    assert kept["traceback"] is None
    assert {"commit", "host", "python", "torch", "threads", "started"} <= kept.keys()
    assert kept["parameters"] == sum(tensor.numel() for tensor in weights(folder).values())
    assert kept["train_seconds"] > 0
    assert kept["tokens_per_second"] > 0

    result = rows(folder / "lengths.csv")
    assert [row["length"] for row in result] == ["5", "10", "15", "20", "24"]
    for row in result:
        assert tuple(row) == COLUMNS
        assert folder.name == f"seed{row['seed']}-{row['fingerprint']}"
        assert row["in_range"] == str(int(row["length"]) <= 20).lower()
        assert (row["n"], row["chance"], row["eval_seed"]) == ("16", "0.5", "0")
    assert "score" in (folder / "train.log").read_text()


def test_repeated_command_skips_the_finished_run_and_says_how_it_was_made(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    first = train()
    monkeypatch.setattr(posenc.run, "_train", None)
    result = only_run(tmp_path) / "lengths.csv"
    written = result.stat().st_mtime_ns
    for neutral in ((), ("threads=2", "checkpoint.every=3", "trainer.log_every_n_steps=1")):
        ended = train(*neutral)
        assert ended.code == 0
        assert f"posenc {posenc.__version__}, commit " in ended.out
        assert "overwrite=true" in ended.out
        table = first.out[first.out.index("who_bit_whom  ") :]
        assert table in ended.out
    assert result.stat().st_mtime_ns == written
    assert runs(tmp_path) == [result.parent]


def test_other_evaluation_of_a_finished_run_is_kept_beside_the_first(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    train("positions=random")
    folder = only_run(tmp_path)
    first = (folder / "lengths.csv").read_bytes()
    monkeypatch.setattr(posenc.run, "_train", None)
    for asked in ("length.test=40", "eval.samples=20", "positions.at_eval=even", "eval.seed=1"):
        before = set(folder.glob("lengths-*.csv"))
        assert train("positions=random", asked).code == 0
        (new,) = set(folder.glob("lengths-*.csv")) - before
        column, value = {
            "length.test=40": ("length", "40"),
            "eval.samples=20": ("n", "20"),
            "positions.at_eval=even": ("positions_at_eval", "even"),
            "eval.seed=1": ("eval_seed", "1"),
        }[asked]
        assert rows(new)[-1][column] == value
    assert (folder / "lengths.csv").read_bytes() == first
    assert runs(tmp_path) == [folder]
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    assert train("positions=random", "length.test=40").code == 0


def test_overwriting_starts_again_and_comes_to_the_same(train, tmp_path: Path):
    train()
    folder = only_run(tmp_path)
    before, result = weights(folder), (folder / "lengths.csv").read_bytes()
    (folder / "lengths-old.csv").touch()
    written = RunFolder(folder).checkpoint.stat().st_mtime_ns
    assert train("overwrite=true").code == 0
    assert not (folder / "lengths-old.csv").exists()
    assert status(folder)["resumed_from"] == 0
    assert RunFolder(folder).checkpoint.stat().st_mtime_ns > written
    assert all(before[name].equal(tensor) for name, tensor in weights(folder).items())
    assert (folder / "lengths.csv").read_bytes() == result


@pytest.mark.parametrize("error", [RuntimeError("spoilt"), SystemExit(0), MemoryError()])
def test_run_that_broke_says_why_and_goes_on_when_repeated(
    error: BaseException, train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    steps = ("trainer.max_steps=12", "checkpoint.every=3", *ALL_RANDOM)
    assert run(*TINY, f"outputs={tmp_path / 'straight'}", *steps).code == 0
    break_at(17, monkeypatch, error)
    broken = train(*steps)
    assert broken.code == 1
    assert type(error).__name__ in broken.err.splitlines()[-1]
    assert "Traceback" in broken.out + broken.err
    folder = only_run(tmp_path / "outputs")
    assert status(folder)["status"] == "failed"
    assert type(error).__name__ in status(folder)["traceback"]
    assert not (folder / "lengths.csv").exists()

    again = train(*steps)
    assert again.code == 0
    assert "resumed at step 6" in again.out
    assert status(folder)["status"] == "finished"
    assert status(folder)["traceback"] is None
    assert same_result(folder, only_run(tmp_path / "straight"))


@pytest.mark.parametrize("mode", ["alone", "in ranks"])
def test_training_that_diverged_is_one_line_and_its_folder_tells_the_rest(
    mode: str, train, tmp_path: Path
):
    ranks = ("trainer.devices=2", "trainer.accelerator=cpu") if mode == "in ranks" else ()
    ended = train("optimizer.lr=1e30", "trainer.log_every_n_steps=1", *ranks)
    assert ended.code == 1
    assert "Traceback" not in ended.out + ended.err
    folder = only_run(tmp_path)
    (line,) = ended.err.splitlines()
    assert re.fullmatch(
        r"error: FloatingPointError: the (loss is \w+|weights are not finite) at step \d+: "
        rf"lower optimizer\.lr=1e\+30 \(traceback in {re.escape(str(folder))}\)",
        line,
    )
    log = (folder / "train.log").read_text()
    for told in (log, status(folder)["traceback"]):
        assert "Traceback (most recent call last)" in told
        assert told.rstrip().endswith("lower optimizer.lr=1e+30") or mode == "in ranks"


def test_failure_to_evaluate_anew_leaves_a_finished_run_finished(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    train()
    folder = only_run(tmp_path)
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    assert train("length.test=30").code == 1
    monkeypatch.undo()
    assert status(folder)["status"] == "finished"
    assert train("length.test=30").code == 0


def test_result_outlives_whatever_stops_its_printing(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def stopped(*_: Any, **__: Any) -> None:
        raise Interrupted(143)

    monkeypatch.setattr(posenc.run, "print_run", stopped)
    assert train().code == 143
    assert status(only_run(tmp_path))["status"] == "finished"


def test_failure_is_told_even_where_no_status_can_be_written(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    write = RunFolder.write_status

    def full(self: RunFolder, **changes: Any) -> None:
        if changes.get("status") == "failed":
            raise OSError("No space left on device")
        write(self, **changes)

    break_at(3, monkeypatch, RuntimeError("spoilt"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "write_status", full)
        ended = train()
    assert ended.code == 1
    assert "RuntimeError: spoilt" in ended.err.splitlines()[-1]
    assert "No space left" in ended.out


def test_weights_that_answer_nan_are_no_result(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    forward = Transformer.forward

    def spoilt(self: Transformer, *given: Any, **named: Any) -> torch.Tensor:
        logits = forward(self, *given, **named)
        return logits if self.training or given[0].shape[1] < 24 else logits * math.nan

    monkeypatch.setattr(Transformer, "forward", spoilt)
    ended = train()
    assert ended.code == 1
    assert "the loss is nan at length 24" in ended.err
    assert "Traceback" not in ended.out + ended.err
    folder = only_run(tmp_path)
    assert status(folder)["status"] == "failed"
    assert not (folder / "lengths.csv").exists()


def test_tensorboard_gets_the_length_curve_once_however_often_it_is_tried(
    train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def broken(*_: Any, **__: Any) -> None:
        raise Interrupted(143)

    with monkeypatch.context() as patch:
        patch.setattr(posenc.run, "publish", broken)
        assert train("logger=tensorboard").code == 143
    assert status(only_run(tmp_path))["status"] == "finished"
    for _ in range(2):
        assert train("logger=tensorboard").code == 0
    events = EventAccumulator(str(only_run(tmp_path))).Reload()
    curve = events.Scalars("length_generalization/exact")
    assert [event.step for event in curve] == [5, 10, 15, 20, 24]
    assert [event.step for event in events.Scalars("train/loss")] == [6]


def test_slurm_is_asked_for_nothing(train, monkeypatch: pytest.MonkeyPatch):
    for variable in ("SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"):
        monkeypatch.setenv(variable, "4")
    monkeypatch.setenv("SLURM_JOB_NAME", "sweep")
    assert train().code == 0


def test_checkpoint_that_would_run_code_is_refused_unread(train, tmp_path: Path):
    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "done",)

    train()
    folder = RunFolder(only_run(tmp_path))
    torch.save({"state_dict": Malice()}, folder.checkpoint)
    for overrides in ((), ("length.test=30",)):
        folder.write_status(status="finished" if overrides else "interrupted")
        ended = train(*overrides)
        assert ended.code == 2
        assert str(folder.checkpoint) in ended.err.splitlines()[-1]
        assert "Traceback" not in ended.err
    assert not (tmp_path / "done").exists()
    assert train("overwrite=true").code == 0


@pytest.mark.parametrize("damage", [b"", b"no checkpoint"])
def test_damaged_checkpoint_is_refused_in_one_line(damage: bytes, train, tmp_path: Path):
    train()
    folder = RunFolder(only_run(tmp_path))
    folder.checkpoint.write_bytes(damage)
    folder.write_status(status="interrupted")
    ended = train()
    assert ended.code == 2
    assert ended.err.startswith(f"error: {folder.checkpoint}: ")
    assert "overwrite=true" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_lengths_may_be_asked_for_in_any_order(train, tmp_path: Path):
    assert train("eval.lengths=[24,5,24,10]").code == 0
    result = rows(only_run(tmp_path) / "lengths.csv")
    assert [row["length"] for row in result] == ["5", "10", "24"]
