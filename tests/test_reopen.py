"""A finished run can be asked again, as itself; what would be another network is refused."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
import torch
from command_line import TINY, Ended, only_run, rows, run
from omegaconf import OmegaConf

import posenc.run
import posenc.scoring
from posenc.errors import ConfigError
from posenc.reopen import reopen
from posenc.results.records import RunFolder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("outputs")
    command = (*TINY, "positions=random", "encoding=learned", "encoding.max_length=2048")
    assert run(*command, f"outputs={outputs}").code == 0
    return only_run(outputs)


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, as somebody else may have sent it."""
    return Path(shutil.copytree(trained, tmp_path / trained.name))


def evaluate(*arguments: str) -> Ended:
    return run(*arguments, script="scripts/evaluate.py")


def refusal(*arguments: str) -> str:
    """The one line with which scripts/evaluate.py refuses."""
    ended = evaluate(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    return line


def test_reopened_run_has_the_settings_it_was_made_with(folder: Path):
    config, found = reopen(str(folder), [])
    assert found.path == folder
    assert asdict(config) == OmegaConf.to_container(OmegaConf.load(folder / "config.yaml"))
    assert (config.model.width, config.encoding["max_length"]) == (16, 2048)


def test_run_that_was_made_before_a_key_which_changes_none_is_reopened(folder: Path):
    file = folder / "config.yaml"
    text = file.read_text()
    for line in ("  devices: 1\n", "  compile: false\n"):
        assert line in text
        text = text.replace(line, "")
    file.write_text(text)
    config, _ = reopen(str(folder), [])
    assert (config.trainer.devices, config.trainer.compile) == (1, False)
    assert evaluate(f"run={folder}", "length.test=30").code == 0


def test_first_evaluation_is_shown_again_without_computing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    ended = evaluate(f"run={folder}")
    assert ended.code == 0
    assert str(folder / "lengths.csv") in ended.out
    assert not list(folder.glob("lengths-*.csv"))


@pytest.mark.parametrize(
    ("asked", "column", "value"),
    [
        ("length.test=40", "length", "40"),
        ("eval.lengths=[7,24]", "length", "24"),
        ("eval.samples=20", "n", "20"),
        ("positions.at_eval=index", "positions_at_eval", "index"),
        ("positions.draws=2", "draws", "2"),
    ],
)
def test_other_evaluation_is_kept_beside_the_first_and_reused(
    asked: str, column: str, value: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    first = (folder / "lengths.csv").read_bytes()
    assert evaluate(f"run={folder}", asked).code == 0
    (new,) = folder.glob("lengths-*.csv")
    assert rows(new)[-1][column] == value
    assert (folder / "lengths.csv").read_bytes() == first
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    again = evaluate(f"run={folder}", asked)
    assert again.code == 0
    assert str(new) in again.out


def test_training_and_evaluating_ask_in_the_same_words(folder: Path, tmp_path: Path):
    command = (*TINY, "positions=random", "encoding=learned", "encoding.max_length=2048")
    evaluate(f"run={folder}", "length.test=40")
    (ours,) = folder.glob("lengths-*.csv")
    run(*command, "length.test=40", f"outputs={tmp_path / 'straight'}")
    theirs = only_run(tmp_path / "straight") / "lengths.csv"
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    "change",
    ["seed=1", "model.width=32", "encoding=none", "optimizer.lr=0.1", "length.train=22",
     "positions=index", "positions.span=100", "outputs=elsewhere", "overwrite=true", "evaluate=1"],
)  # fmt: skip
def test_change_that_belongs_to_training_is_refused(change: str, folder: Path):
    line = refusal(f"run={folder}", change)
    assert line.startswith(f"error: {change.partition('=')[0]}: belongs to training; ")
    assert "length.test" in line


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["run=", "missing"]),
        (["length.test=30"], ["run=", "missing"]),
        (["run"], ["'run'", "key=value"]),
        (["=run"], ["'=run'", "key=value"]),
        (["run=/no/such/run"], ["run=/no/such/run", "there is no run"]),
    ],
)
def test_missing_run_is_refused(arguments: list[str], parts: list[str]):
    line = refusal(*arguments)
    assert all(part in line for part in parts)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("length.test=10", ["length.test=10", "length.train=20"]),
        ("length.test=3000", ["positions.span=2048", "3001"]),
        ("length.test=abc", ["length.test=abc", "int"]),
        ("length.test=", ["length.test="]),
        ("length.test.foo=1", ["length.test"]),
        ("eval.samples=0", ["eval.samples=0"]),
        ("eval.sample=5", ["eval.sample", "samples"]),
        ("eval.lengths=[5", ["eval.lengths=[5"]),
        ("eval=5", ["eval=5"]),
        ("positions.at_eval=foo", ["positions.at_eval=foo", "resample"]),
        ("threads=0", ["threads=0"]),
    ],
)
def test_bad_value_is_refused_in_one_line(change: str, parts: list[str], folder: Path):
    line = refusal(f"run={folder}", change)
    assert all(part in line for part in parts)
    assert not list(folder.glob("lengths-*.csv"))


@pytest.mark.parametrize("status", ["running", "failed", "interrupted"])
def test_run_that_is_not_finished_is_refused(status: str, folder: Path):
    RunFolder(folder).write_status(status=status)
    assert f"the run is {status}, not finished" in refusal(f"run={folder}")


TAMPERED = {
    "foreign class": ("posenc.encodings.learned.Learned", "os.system", "os.system"),
    "other class": ("posenc.encodings.learned.Learned", "posenc.encodings.none.NoPE", "learned"),
    "key of another version": ("  width: 16", "  width: 16\n  rotary: true", "model.rotary"),
    "setting of another version": ("  span: 2048", "  span: 2048\n  sorted: 1", "positions.sorted"),
    "missing key": ("  span: 2048\n", "", "positions.span"),
    "no yaml": ("threads: 1", "threads: [1", "config.yaml"),
    "another network": ("  dropout: 0.0", "  dropout: 0.1", "config.yaml is that of seed0-"),
    "another seed": ("\nseed: 0", "\nseed: 1", "config.yaml is that of seed1-"),
    "no text": ("threads: 1", "threads: \udcff", "config.yaml"),
    "interpolation": ("threads: 1", "threads: ${oc.env:SECRET}", "threads"),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_settings_that_this_version_cannot_stand_for_are_refused(kind: str, folder: Path):
    before, after, named = TAMPERED[kind]
    file = folder / "config.yaml"
    text = file.read_text()
    assert before in text
    file.write_bytes(text.replace(before, after).encode(errors="surrogateescape"))
    assert named in refusal(f"run={folder}", "length.test=30")


@pytest.mark.parametrize("text", ["", "[1]", "5"])
def test_file_that_holds_no_settings_is_refused(text: str, folder: Path):
    (folder / "config.yaml").write_text(text)
    refusal(f"run={folder}")


def test_missing_settings_or_checkpoint_are_refused_by_their_path(folder: Path):
    (folder / "checkpoints" / "last.ckpt").unlink()
    assert str(folder / "checkpoints" / "last.ckpt") in refusal(f"run={folder}", "eval.seed=3")
    (folder / "config.yaml").unlink()
    assert str(folder / "config.yaml") in refusal(f"run={folder}")


def test_folder_may_be_moved_but_not_renamed(folder: Path):
    other = folder.rename(folder.parent / "mine")
    assert f"{other}/config.yaml is that of {folder.name}" in refusal(f"run={other}")
    back = other.rename(folder)
    assert evaluate(f"run={back}").code == 0


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda state: {}, "holds no state_dict"),
        (lambda state: {"state_dict": [1]}, "holds no state_dict"),
        (lambda state: {"state_dict": {"net.norm": 1}}, "holds no state_dict"),
        (lambda state: {"state_dict": dict(list(state.items())[1:])}, "has shape None"),
        (lambda state: {"state_dict": state | {"net.b": torch.ones(3)}}, "b has shape (3,)"),
        (lambda state: {"state_dict": {k: v[:1] for k, v in state.items()}}, "has shape (1,"),
    ],
)
def test_checkpoint_of_something_else_is_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], part: str, folder: Path
):
    path = folder / "checkpoints" / "last.ckpt"
    torch.save(change(torch.load(path, weights_only=True)["state_dict"]), path)
    line = refusal(f"run={folder}", "eval.seed=3")
    assert part in line
    assert "overwrite=true" in line


@pytest.mark.parametrize("file", ["run.json", "lengths.csv", "config.yaml"])
def test_damaged_files_are_named(file: str, folder: Path):
    path = folder / file
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"\xff\x00" * 50, None):
        path.unlink()
        path.mkdir() if damaged is None else path.write_bytes(damaged)
        assert str(path) in refusal(f"run={folder}")
    path.rmdir()


def test_link_to_itself_is_no_run(tmp_path: Path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "there is no run" in refusal(f"run={loop}")


def test_run_in_use_is_refused(folder: Path):
    holding = f"""
from pathlib import Path
from subprocess import PIPE, Popen
from posenc.results.records import RunFolder
with RunFolder(Path({str(folder)!r})).locked():
    print("held", flush=True)
    input()
"""
    with Popen([sys.executable, "-c", holding], stdin=PIPE, stdout=PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert "going on right now" in refusal(f"run={folder}")
        holder.communicate("\n")


def test_reopening_raises_for_whoever_imports_it(folder: Path):
    with pytest.raises(ConfigError, match="belongs to training"):
        reopen(str(folder), ["model.layers=3"])


def test_help_needs_no_run():
    ended = evaluate("--help")
    assert ended.code == 0
    assert "run=FOLDER" in ended.out
