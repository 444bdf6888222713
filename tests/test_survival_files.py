"""What a crash, a copy or an editor left in a run folder is named with its remedy, never used."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import TINY, only_run, run, status

from posenc.results.records import RunFolder

COMMAND = (*TINY, "checkpoint.every=3")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs with two runs of networks that are alike in every shape, and one of another."""
    outputs = tmp_path_factory.mktemp("outputs")
    for own in ("encoding=none", "encoding=rope", "model.width=32"):
        assert run(*COMMAND, f"outputs={outputs}", own).code == 0
    return outputs


@pytest.fixture
def outputs(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "outputs"))


@pytest.fixture
def folder(outputs: Path) -> RunFolder:
    """That of a run which stopped after its last step, and before its evaluation."""
    found = RunFolder(only_run(outputs / "who_bit_whom" / "encoder-none-index"))
    (found.path / "lengths.csv").unlink()
    found.write_status(status="interrupted")
    return found


def refused(*arguments: str, script: str = "train.py", code: int = 2) -> str:
    """The one line with which a command is refused."""
    ended = run(*arguments, script=script)
    assert ended.code == code, ended
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    assert len(line) <= 400
    return line


def resumed(folder: RunFolder) -> tuple[str, ...]:
    return (*COMMAND, "encoding=none", f"outputs={folder.path.parents[2]}")


def everything(folder: RunFolder) -> dict[str, bytes]:
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    return {path.name: path.read_bytes() for path in files if path.name != "train.log"}


def half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """One bit of a weight."""
    place = content.index(b"data/0") + 200
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


TORN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "100 bytes": lambda content: content[:100],
    "half": half,
    "without its end": lambda content: content[:-1],
    "without its directory": lambda content: content[:-4096],
    "with zeros for its second half": lambda content: half(content).ljust(len(content), b"\0"),
    "with one bit changed": flipped,
    "text": lambda content: b"weights, once\n",
    "a pickle of 1": lambda content: b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("damage", TORN)
def test_torn_checkpoint_is_refused_wherever_it_is_read(damage: str, folder: RunFolder):
    folder.checkpoint.write_bytes(TORN[damage](folder.checkpoint.read_bytes()))
    before = everything(folder)
    line = refused(*resumed(folder))
    assert f"{folder.checkpoint}: " in line
    assert "overwrite=true" in line
    assert everything(folder) == before
    folder.write_status(status="finished")
    for script, own in (("evaluate.py", "length.test=30"), ("show.py", "prompt=the")):
        line = refused(f"run={folder.path}", own, script=f"scripts/{script}")
        assert f"{folder.checkpoint}: " in line


def without(*keys: str) -> Callable[[dict[str, Any], Path], Any]:
    """Without the entry that these keys lead to."""

    def smaller(checkpoint: dict[str, Any], outputs: Path) -> Any:
        *parents, last = keys
        inner = checkpoint
        for key in parents:
            inner = inner[key]
        del inner[last]
        return checkpoint

    return smaller


def changed(**entries: Any) -> Callable[[dict[str, Any], Path], Any]:
    return lambda checkpoint, outputs: checkpoint | entries


def copied(setup: str, *, nameless: bool) -> Callable[[dict[str, Any], Path], Any]:
    """The checkpoint of another run, with or without its name."""

    def foreign(checkpoint: dict[str, Any], outputs: Path) -> Any:
        (path,) = (outputs / "who_bit_whom" / setup).rglob("last.ckpt")
        content = torch.load(path, weights_only=True)
        return {key: content[key] for key in content if key != "run"} if nameless else content

    return foreign


LOOP = ("loops", "fit_loop", "epoch_loop.manual_optimization.optim_step_progress")
FOREIGN: dict[str, tuple[Callable[[dict[str, Any], Path], Any], str]] = {
    "another run of the same shapes": (copied("encoder-rope-index", nameless=False), "another run"),
    "another network": (copied("encoder-sinusoidal-index", nameless=True), "has shape"),
    "weights alone": (lambda checkpoint, outputs: checkpoint["state_dict"], "no state_dict"),
    "of another program": (lambda *_: {"model": {"w": torch.ones(2)}, "iter": 3}, "no state_dict"),
    "a list": (lambda *_: [1, torch.ones(2)], "damaged"),
    "one tensor": (lambda *_: torch.ones(2), "damaged"),
    "without moments": (without("optimizer_states"), "lacks what training"),
    "with empty moments": (without("optimizer_states", 0, "state"), "lacks what training"),
    "with no optimizer": (changed(optimizer_states=[]), "lacks what training"),
    "with two optimizers": (changed(optimizer_states=[{}, {}]), "lacks what training"),
    "without schedule": (without("lr_schedulers"), "lacks what training"),
    "without counters": (without("loops"), "lacks what training"),
    "without its steps": (without(*LOOP), "lacks what training"),
    "without global step": (without("global_step"), "lacks what training"),
    "at another step": (changed(global_step=4), "lacks what training"),
    "at no step": (changed(global_step="6"), "lacks what training"),
    "without a weight": (without("state_dict", "net.embedding.weight"), "has shape None"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_checkpoint_is_refused_before_training_goes_on(kind: str, folder: RunFolder):
    change, said = FOREIGN[kind]
    checkpoint = torch.load(folder.checkpoint, weights_only=True)
    torch.save(change(checkpoint, folder.path.parents[2]), folder.checkpoint)
    before = everything(folder)
    line = refused(*resumed(folder))
    assert f"{folder.checkpoint}: " in line
    assert said in line
    assert "overwrite=true" in line
    assert everything(folder) == before


def test_checkpoint_that_would_run_code_is_refused_by_every_script(
    folder: RunFolder, tmp_path: Path
):
    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "done",)

    checkpoint = torch.load(folder.checkpoint, weights_only=True)
    for spoilt in (Malice(), {"state_dict": Malice()}, checkpoint | {"loops": Malice()}):
        torch.save(spoilt, folder.checkpoint)
        folder.write_status(status="interrupted")
        lines = [refused(*resumed(folder))]
        folder.write_status(status="finished")
        for script, own in (("evaluate.py", "length.test=30"), ("show.py", "prompt=the")):
            lines.append(refused(f"run={folder.path}", own, script=f"scripts/{script}"))
        assert all("is not read" in line and str(folder.checkpoint) in line for line in lines)
        assert not any("trust" in line for line in lines)  # as PyTorch says, who would load it
    assert not (tmp_path / "done").exists()


ROWS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in its header": lambda content: content[:20],
    "cut in a line": lambda content: content[:-30],
    "cut after its header": lambda content: content.splitlines(keepends=True)[0],
    "without a column": lambda content: content.replace(b",exact,", b",inexact,"),
    "bytes": lambda content: content + b"\xff\xfe\x00",
    "zeros": lambda content: bytes(len(content)),
    "a word for a number": lambda content: content.replace(b",20,24,", b",20,long,"),
}


@pytest.mark.parametrize("damage", ROWS)
def test_damaged_rows_are_refused_and_can_be_made_again(damage: str, outputs: Path):
    folder = RunFolder(only_run(outputs / "who_bit_whom" / "encoder-none-index"))
    path = folder.path / "lengths.csv"
    whole = path.read_bytes()
    assert ROWS[damage](whole) != whole
    path.write_bytes(ROWS[damage](whole))
    ended = run(*resumed(folder))
    assert ended.code == 2
    assert "Traceback" not in ended.err + ended.out
    for line in (ended.err.strip(), refused(f"run={folder.path}", script="scripts/evaluate.py")):
        assert line.startswith(f"error: {path} is damaged (")
        assert line.endswith(": delete it, and the run is evaluated again")
    assert str(path) in run(str(outputs), script="scripts/report.py").err
    path.unlink()
    assert run(*resumed(folder)).code == 0
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", ["cut in its header", "cut in a line", "bytes", "zeros"])
def test_damaged_table_beside_the_rows_is_refused_and_can_be_made_again(
    damage: str, tmp_path: Path
):
    command = (*TINY, "task=stream", "model=decoder", f"outputs={tmp_path}")
    assert run(*command).code == 0
    path = only_run(tmp_path) / "bits.csv"
    whole = path.read_bytes()
    path.write_bytes(ROWS[damage](whole))
    ended = run(*command)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {path} is damaged (")
    assert len(ended.err.splitlines()) == 1
    assert "Traceback" not in ended.out
    for name in ("bits.csv", "lengths.csv"):
        (path.parent / name).unlink()
    assert run(*command).code == 0
    assert path.read_bytes() == whole


def told(**entries: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(json.loads(content) | entries).encode()


STATUS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "half": half,
    "no JSON": lambda content: b"status: finished\n",
    "bytes": lambda content: b"\xff" + content,
    "zeros": lambda content: bytes(len(content)),
    "a list": lambda content: b"[1]",
    "a number": lambda content: b"3",
    "deep": lambda content: b"[" * 100_000,
    "another schema": told(schema=1),
    "a schema to come": told(schema=3),
    "no schema": told(schema=None),
    "a list as status": told(status=["finished"]),
    "a number as status": told(status=4),
    "text as settings": told(settings="none"),
    "a list as evaluations": told(evaluations=["lengths.csv"]),
    "a number as an evaluation": told(evaluations={"lengths.csv": 5}),
    "a list as asked": told(evaluations={"lengths.csv": {"settings": [1]}}),
    "shares that are none": told(evaluations={"lengths.csv": {"seen_in_training": {"5": "x"}}}),
    "a list as logged": told(logged_as=["wandb"]),
    "a number as traceback": told(traceback=4),
}


@pytest.mark.parametrize("damage", STATUS)
def test_damaged_status_is_refused_by_its_path(damage: str, outputs: Path):
    folder = RunFolder(only_run(outputs / "who_bit_whom" / "encoder-none-index"))
    path = folder.path / "run.json"
    path.write_bytes(STATUS[damage](path.read_bytes()))
    ended = run(*resumed(folder))
    assert ended.code == 2
    assert ended.err.startswith(f"error: {path}")
    assert "Traceback" not in ended.err + ended.out
    for line in (ended.err.strip(), refused(f"run={folder.path}", script="scripts/evaluate.py")):
        assert "delete the run folder" in line or "maps no lengths" in line
        assert len(line.splitlines()) == 1


def test_overwriting_mends_whatever_is_damaged(folder: RunFolder, trained: Path):
    for path in folder.path.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff")
    assert run(*resumed(folder), "overwrite=true").code == 0
    assert status(folder.path)["status"] == "finished"
    (before,) = (trained / "who_bit_whom" / "encoder-none-index").rglob("lengths.csv")
    assert (folder.path / "lengths.csv").read_bytes() == before.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"task: [", b"- 1", None])
def test_damaged_settings_are_refused_where_they_are_read_and_written_anew_by_training(
    content: bytes | None, folder: RunFolder
):
    path = folder.path / "config.yaml"
    path.unlink() if content is None else path.write_bytes(content)
    folder.write_status(status="finished")
    for script, own in (("evaluate.py", "length.test=30"), ("show.py", "prompt=the")):
        assert str(path) in refused(f"run={folder.path}", own, script=f"scripts/{script}")
    folder.write_status(status="interrupted")
    assert run(*resumed(folder)).code == 0
    assert run(f"run={folder.path}", script="scripts/evaluate.py").code == 0


@pytest.mark.parametrize(
    ("name", "code"),
    [("run.json", 2), ("checkpoints/last.ckpt", 2), (".lock", 2), ("train.log", 1),
     ("lengths.csv", 1), ("config.yaml", 1)],
)  # fmt: skip
def test_folder_in_place_of_a_file_is_named(name: str, code: int, folder: RunFolder):
    path = folder.path / name
    path.unlink(missing_ok=True)
    path.mkdir()
    ended = run(*resumed(folder))
    assert ended.code == code
    assert str(path) in ended.err
    assert len(ended.err.splitlines()) == 1
    assert "Traceback" not in ended.out


def test_file_in_place_of_a_folder_is_named(folder: RunFolder):
    checkpoints = folder.checkpoint.parent
    shutil.rmtree(checkpoints)
    checkpoints.touch()
    line = refused(*resumed(folder), code=1)
    assert "a file is where a folder belongs" in line
    assert str(checkpoints) in line
    setup = folder.path.parent
    shutil.rmtree(setup)
    setup.touch()
    line = refused(*resumed(folder))
    assert str(setup) in line
    assert "outputs=" in line
