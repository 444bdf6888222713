"""A trained network can be asked more: longer, otherwise, and with more rows in its tables."""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from command_line import TINY, Ended, only_run, rows, run, status
from omegaconf import OmegaConf

import posenc.scoring
from posenc.building import build
from posenc.checkpoint import load_weights, read_checkpoint
from posenc.errors import ConfigError
from posenc.reopen import reopen
from posenc.results.identity import leaf
from posenc.results.records import RunFolder
from posenc.schema import load

KINDS = {
    "learned": ("encoding=learned", "encoding.max_length=25"),
    "tupe": ("encoding=tupe", "encoding.max_length=25"),
    "parts": ("encoding=combined", "encoding.parts=[rope,{name:learned,max_length:25}]"),
    "one part": ("encoding=combined", "encoding.parts=[{name:learned,max_length:25}]"),
    # Every layer has an instance of the other part; they share the table.
    "shared": ("encoding=combined", "encoding.parts=[shaw,{name:learned,max_length:25}]"),
}
KEYS = {
    "learned": "encoding.max_length",
    "tupe": "encoding.max_length",
    "parts": "encoding.parts.1.max_length",
    "one part": "encoding.parts[0].max_length",
    "shared": "encoding.parts.1.max_length",
}
"""What names the number of rows."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Kind -> the folder of a finished run."""
    folders = {}
    for kind, chosen in KINDS.items():
        outputs = tmp_path_factory.mktemp("outputs")
        assert run(*TINY, *chosen, f"outputs={outputs}").code == 0
        folders[kind] = only_run(outputs)
    return folders


@pytest.fixture
def copied(trained: dict[str, Path], tmp_path: Path):
    """kind -> a copy of that run to play with."""

    def copy(kind: str) -> Path:
        return Path(shutil.copytree(trained[kind], tmp_path / trained[kind].name))

    return copy


@pytest.fixture
def folder(copied) -> Path:
    return copied("learned")


def evaluate(*arguments: str) -> Ended:
    return run(*arguments, script="scripts/evaluate.py")


def refusal(*arguments: str) -> str:
    """The one line with which scripts/evaluate.py refuses."""
    ended = evaluate(*arguments)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    return line


def later(folder: Path) -> list[Path]:
    return sorted(folder.glob("lengths-*.csv"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_table_reaches_further_and_changes_nothing_before(kind: str, copied):
    folder = copied(kind)
    first = (folder / "lengths.csv").read_bytes()
    ended = evaluate(f"run={folder}", "length.test=60", f"{KEYS[kind]}=61")
    assert ended.code == 0, ended.err
    (new,) = later(folder)
    assert (folder / "lengths.csv").read_bytes() == first
    old_rows, new_rows = ({row["length"]: row for row in rows(path)}
                          for path in (folder / "lengths.csv", new))  # fmt: skip
    assert max(map(int, new_rows)) == 60
    for length in ("5", "10", "15", "20"):
        assert new_rows[length] == old_rows[length]
    assert {row["fingerprint"] for row in new_rows.values()} == {folder.name.rpartition("-")[2]}
    asked = status(folder)["evaluations"][new.name]["settings"]
    assert asked["length.test"] == 60
    assert "61" in json.dumps(asked)


@pytest.mark.parametrize("kind", ["learned", "parts"])
def test_further_rows_are_as_the_seed_draws_them(kind: str, trained: dict[str, Path]):
    config, folder = reopen(str(trained[kind]), [f"{KEYS[kind]}=61"])
    checkpoint = read_checkpoint(folder.checkpoint)
    fresh, grown = build(config).net, build(config).net
    load_weights(grown, folder.checkpoint, longer=True)
    saved = {name.removeprefix("net."): each for name, each in checkpoint["state_dict"].items()}
    for name, weights in grown.state_dict().items():
        kept = len(saved[name])
        assert torch.equal(weights[:kept], saved[name])
        assert torch.equal(weights[kept:], fresh.state_dict()[name][kept:])
        assert len(weights) == (61 if name.endswith("table.weight") else kept)


def test_a_shorter_table_is_refused_with_both_numbers(folder: Path):
    line = refusal(f"run={folder}", "length.test=20", "encoding.max_length=21")
    assert "max_length=21" in line
    assert "25 rows" in line
    assert not later(folder)


def test_the_same_number_of_rows_is_no_other_evaluation(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    ended = evaluate(f"run={folder}", "encoding.max_length=25")
    assert ended.code == 0
    assert "evaluated again" not in ended.out
    assert str(folder / "lengths.csv") in ended.out


def test_a_longer_table_is_no_excuse_for_another_network(folder: Path):
    """Neither without being asked for, nor beside anything else that does not fit."""
    path = folder / "checkpoints" / "last.ckpt"
    state = torch.load(path, weights_only=True)["state_dict"]
    (name,) = (key for key in state if key.endswith("table.weight"))
    torch.save({"state_dict": state | {name: state[name][:24]}}, path)
    assert "has shape (24, 16), and in this network (25, 16)" in refusal(
        f"run={folder}", "eval.seed=3"
    )
    for foreign in (torch.ones(24, 8), torch.ones(24), torch.tensor(1.0)):
        torch.save({"state_dict": state | {name: foreign}}, path)
        line = refusal(f"run={folder}", "encoding.max_length=40")
        assert "and in this network (40, 16)" in line
    other = next(key for key in state if key != name)
    torch.save({"state_dict": state | {other: state[other][:1]}}, path)
    assert "has shape (1," in refusal(f"run={folder}", "encoding.max_length=40")


def test_no_room_names_the_key_that_makes_some(copied):
    line = refusal(f"run={copied('learned')}", "length.test=60")
    assert "encoding.max_length=25: " in line
    assert "set encoding.max_length=61, or shorten the sequences" in line
    assert "training" not in line
    line = refusal(f"run={copied('parts')}", "length.test=60")
    assert "encoding.parts.1.max_length=25: " in line
    assert "give this part max_length=61" in line


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("parts", "encoding.max_length=40", "encoding.max_length: no such key"),
        ("parts", "encoding.parts.0.max_length=40", "encoding.parts: encoding.max_length: no such"),
        ("parts", "encoding.parts.7.max_length=40", "encoding.parts.7.max_length=40: "),
        ("parts", "encoding.parts.a.max_length=40", "encoding.parts.a.max_length: belongs to"),
        ("parts", "encoding.parts=[learned]", "encoding.parts: belongs to training"),
        ("parts", "encoding.parts.0.base=7", "encoding.parts.0.base: belongs to training"),
        ("learned", "encoding.parts.0.max_length=40", "encoding.parts"),
        ("learned", "encoding.max_length=0", "encoding.max_length=0: must be at least 1"),
        ("learned", "encoding.max_length=many", "encoding.max_length=many: must be of type int"),
        ("learned", "encoding.max_length.a=1", "encoding.max_length"),
        ("learned", "encoding.past_end=clamp", "encoding.past_end: belongs to training"),
    ],
)
def test_what_is_no_table_is_refused(kind: str, change: str, said: str, copied):
    folder = copied(kind)
    assert said in refusal(f"run={folder}", change)
    assert not later(folder)


def test_an_encoding_without_a_table_has_no_such_key(tmp_path: Path):
    assert run(*TINY, f"outputs={tmp_path}").code == 0
    line = refusal(f"run={only_run(tmp_path)}", "encoding.max_length=40")
    assert line.startswith("error: encoding.max_length: no such key")


def test_a_network_can_be_asked_by_hand_with_a_longer_table(folder: Path):
    prompt = "the " + "old " * 28 + "dog bit the man"
    ask = (f"run={folder}", f"prompt={prompt}")
    short = run(*ask, script="scripts/show.py")
    assert short.code == 2
    assert "max_length" in short.err
    assert run(*ask, "encoding.max_length=64", script="scripts/show.py").code == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["eval.samples=20"], "eval.samples=20"),
        (["eval.lengths=[7,24]"], "eval.lengths=[7,24]"),
        (["length.test=30", "encoding.max_length=31"], "encoding.max_length=31 length.test=30"),
        (["eval.seed=0", "eval.samples=16", "length.test=24"], None),
    ],
)
def test_what_was_asked_stands_above_the_table(changes: list[str], said: str | None, folder: Path):
    for _ in range(2):  # computed, and shown again
        ended = evaluate(f"run={folder}", *changes)
        assert ended.code == 0
        before = ended.out.partition("who_bit_whom  ")[0].split("\n")
        line = f"evaluated again with {said}"
        assert [each for each in before if each] == ([line] if said else [])
    assert len(later(folder)) == (said is not None)


def test_a_part_is_told_by_its_number(copied):
    ended = evaluate(f"run={copied('parts')}", "encoding.parts.1.max_length=30")
    assert "\nevaluated again with encoding.parts.1.max_length=30\n" in ended.out


def test_every_evaluation_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    command = ("positions=random", "positions.span=60", "encoding=rope_linear")
    assert run(*TINY, *command, f"outputs={tmp_path}").code == 0
    folder = only_run(tmp_path)
    changes = [
        "eval.samples=17", "eval.samples=18", "eval.seed=17", "eval.lengths=[5,17]",
        "length.test=30", "positions.at_eval=even", "positions.at_eval=index", "positions.draws=2",
        "encoding.factor_at_eval=2", "encoding.factor_at_eval=4",
    ]  # fmt: skip
    asked = [[change] for change in changes] + [["eval.samples=17", "positions.at_eval=even"]]
    seen: dict[str, bytes] = {}
    for each in asked:
        ended = evaluate(f"run={folder}", *each)
        assert ended.code == 0, ended.err
        (said,) = re.findall("^evaluated again with (.*)$", ended.out, re.MULTILINE)
        assert sorted(said.split()) == sorted(each)
        (new,) = {path.name for path in later(folder)} - seen.keys()
        assert str(folder / new) in ended.out
        for name, content in seen.items():
            assert (folder / name).read_bytes() == content
        seen[new] = (folder / new).read_bytes()
    assert status(folder)["evaluations"].keys() == {"lengths.csv", *seen}
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    for each, name in zip(asked, seen, strict=True):
        assert str(folder / name) in evaluate(f"run={folder}", *reversed(each)).out


def test_a_run_whose_first_evaluation_was_its_own_is_asked_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    own = ("eval.samples=20", "length.test=30", "eval.lengths=[5,20,30]")
    assert run(*TINY, *own, f"outputs={tmp_path}").code == 0
    folder = only_run(tmp_path)
    monkeypatch.setattr(posenc.scoring, "by_length", None)
    for asked in ((), own):
        ended = evaluate(f"run={folder}", *asked)
        assert ended.code == 0
        assert f"rows        {folder / 'lengths.csv'}" in ended.out
        assert "evaluated again" not in ended.out
    assert not later(folder)


@pytest.mark.parametrize("schema", [1, 3, None])
def test_a_run_of_another_version_is_refused(schema: int | None, folder: Path):
    path = folder / "run.json"
    path.write_text(json.dumps({**status(folder), "schema": schema}))
    line = refusal(f"run={folder}", "eval.seed=3")
    assert f"{path} has schema {schema}, not 2: another version of posenc made it" in line
    assert not later(folder)


def test_a_run_made_on_a_gpu_can_be_asked_on_a_cpu(folder: Path):
    if torch.cuda.is_available():
        pytest.skip("it could be asked where it was made")
    settings = OmegaConf.load(folder / "config.yaml")
    OmegaConf.update(settings, "trainer.accelerator", "gpu")
    OmegaConf.save(settings, folder / "config.yaml")
    elsewhere = folder.rename(folder.parent / leaf(asdict(load(settings))))
    path = RunFolder(elsewhere).checkpoint
    torch.save(torch.load(path, weights_only=True) | {"run": elsewhere.name}, path)
    RunFolder(elsewhere).begin(asdict(load(settings)))
    RunFolder(elsewhere).write_status(status="finished")
    assert "trainer.accelerator=gpu: PyTorch finds none" in refusal(f"run={elsewhere}")
    ended = evaluate(f"run={elsewhere}", "trainer.accelerator=cpu")
    assert ended.code == 0
    assert "evaluated again with trainer.accelerator=cpu" in ended.out


def test_weights_without_room_are_refused_to_whoever_imports_it(trained: dict[str, Path]):
    config, folder = reopen(str(trained["learned"]), ["encoding.max_length=61"])
    with pytest.raises(ConfigError, match="has shape"):
        load_weights(build(config).net, folder.checkpoint)
