"""scripts/benchmark.py at sizes that measure nothing, and what it makes of what it measures."""

import csv
import logging
import re
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest
import torch
from catalogue import CLASSES
from command_line import rows, run
from torch.func import functional_call

from posenc.benchmarks import rivals, stacked
from posenc.benchmarks.figures import Figure, in_turn
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import call
from posenc.benchmarks.start import without_torch
from posenc.building import build
from posenc.catalogue import SPEED, classes
from posenc.choosing import PROJECT
from posenc.errors import ConfigError
from posenc.schema import Config

SCRIPT = "scripts/benchmark.py"
SMALL = ("model.width=16", "model.heads=2")
NAMES = {
    "loop": SMALL, "rivals": (), "tasks": SMALL, "encodings": SMALL, "evaluation": SMALL,
    "floor": (), "scaling": (), "stacked": SMALL,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _logging_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)  # would last for the tests to come


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "rivals":
        pytest.importorskip("x_transformers")
    (tmp_path / "README.md").write_text(f"<!-- {name} -->\nold\n<!-- end -->\n")
    compose, sets = Plan.config, set[str]()

    def composed(plan: Plan, *own: str) -> Config:
        sets.update(each.partition("=")[0] for each in own)
        return compose(plan, *own)

    monkeypatch.setattr(Plan, "config", composed)
    ended = run(name, "--smoke", "--out", str(tmp_path), *NAMES[name], script=SCRIPT)
    assert ended.code == 0, ended.err
    table = rows(tmp_path / f"{name}.csv")
    assert table
    assert "old" in (tmp_path / "README.md").read_text()  # which shows what is measured in earnest
    for row in table:
        assert float(row["median"]) == float(row["median"])
        assert (row["aim"], row["met"]) == ("", "")  # such sizes judge nothing
        assert row["figure"] in ended.out
    assert sets == {*import_module(f"posenc.benchmarks.{name}").SETS}
    assert not re.search(r"\b(met|missed)$", ended.out, re.MULTILINE)
    assert (tmp_path / "scaling.png").exists() == (name == "scaling")
    everything = {"encodings": {*CLASSES} - {"none"}, "tasks": {*classes("task")}}
    assert everything.get(name) in (None, {row["figure"] for row in table})


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--rounds", "0"), "--rounds 0: must be at least 1"),
        (("--rounds", "x", "loop"), "--rounds: invalid int value: 'x'"),
        (("floor", "--out", "/dev/null/x"), "name a folder to write in"),
        (("flor",), "flor: choose among loop, start,"),
        (("encoding=rpoe",), "did you mean 'rope'?"),
        (("loop", "model.width=63"), "model.width=63"),
        (("loop", "encoding=xpos"), "encoding=xpos"),
        (("seed=1,2", "loop"), "seed=1,2: choose one value; nothing is swept here"),
        (("loop", "report", "model.width=128"), "model.width=128: report sets model.width itself"),
        (("floor", "length.min=5"), "length.min=5: floor sets length itself; leave it out"),
        (("threads", "threads=2"), "threads=2: threads sets threads itself; leave it out"),
        (("start", "outputs=/x"), "outputs=/x: start sets outputs itself; leave it out"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_measured(
    arguments: tuple[str, ...], part: str
) -> None:
    ended = run(*arguments, script=SCRIPT)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert part in ended.err


def test_what_a_benchmark_needs_is_looked_for_before_any_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rivals, "find_spec", lambda name: None)
    ended = run(script=SCRIPT)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: rivals: needs x-transformers; pip install ")


@pytest.mark.parametrize(("arguments", "code"), [(("--help",), 0), (("lop",), 2)])
def test_help_and_a_misspelt_name_do_not_wait_for_torch(
    arguments: tuple[str, ...], code: int
) -> None:
    call(without_torch, str(PROJECT / SCRIPT), *arguments, code=code)


def test_every_name_is_explained_in_one_line_of_help_and_in_the_page() -> None:
    told = run("--help", script=SCRIPT).out
    page = (SPEED / "README.md").read_text()
    for path in Path(rivals.__file__).parent.glob("*.py"):
        if "\ndef measure(" not in path.read_text():
            continue
        docstring = import_module(f"posenc.benchmarks.{path.stem}").__doc__
        assert docstring is not None
        assert f"\n  {path.stem:<12}{docstring.splitlines()[0]}\n" in told
        assert f"| `{path.stem}` |" in page
    assert max(map(len, told.splitlines())) <= 80


def test_a_group_that_is_chosen_leaves_its_settings_free() -> None:
    plan = Plan(1, ("model.width=32", "data.batch_size=8"))
    plan.refuse("x", ["model", "batch_size", "data.batch"])
    with pytest.raises(ConfigError, match=r"model\.width=32: x sets model\.width itself"):
        plan.refuse("x", ["model.width"])


def test_tables_of_a_page_are_renewed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- loop -->\nold\n<!-- end -->\nb\n<!-- floor -->\nc\n<!-- end -->\n")
    found = [Figure("x / y", "", [1.0, 3.0, 2.0], at_most=1.5)]
    monkeypatch.setattr("posenc.benchmarks.loop.measure", lambda plan: found)
    assert run("loop", "--out", str(tmp_path), script=SCRIPT).code == 0
    table = "| x / y | 2.00 | 1.00 to 3.00 | at most 1.5 | no |"
    before, after = page.read_text().split(table)
    assert before.startswith("a\n<!-- loop -->\n| | median |")
    assert after == "\n<!-- end -->\nb\n<!-- floor -->\nc\n<!-- end -->\n"
    assert "old" not in before


def test_a_figure_is_judged_by_its_median() -> None:
    assert Figure("x", "", [0.9, 1.0, 9.0], at_least=1.0).met == "yes"
    assert Figure("x", "", [0.9, 0.99, 9.0], at_least=1.0).met == "no"
    assert Figure("x", "s", [1.0, 2.0, 3.0], at_most=1.9).met == "no"
    assert Figure("x", "s", [3.0, 1.0, 2.0]).row() == [
        "x",
        "s",
        "2.00",
        "1.00",
        "3.00",
        "3",
        "",
        "",
    ]


def test_works_take_turns_and_the_first_round_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    clock = iter(range(100))
    monkeypatch.setattr("posenc.benchmarks.figures.perf_counter", lambda: next(clock))
    works: dict[str, Callable[[], object]] = {
        "a": lambda: calls.append("a"),
        "b": lambda: [calls.append("b"), next(clock)],
    }
    assert in_turn(works, 2) == {"a": [1, 1], "b": [2, 2]}
    assert calls == ["b", "a", "a", "b", "b", "a"]


@pytest.mark.parametrize("cell", rivals.CELLS)
def test_rivals_get_texts_of_the_length_that_is_told(cell: str) -> None:
    task, batch, tokens = rivals.CELLS[cell]
    config = Plan(1).config(task, batch, *rivals._length(task, tokens))
    shape = rivals._tokens(config, build(config)).shape
    assert list(shape) == list(map(int, re.findall(r"\d+", cell)))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_stacked_seeds_learn_what_separate_ones_do() -> None:
    plan = Plan(1, SMALL)
    nets, tokens, _ = stacked._problems(plan, 4)
    ids = torch.arange(tokens.shape[2])[None]
    untrained = torch.stack([net(own, ids, 2) for net, own in zip(nets, tokens, strict=True)])
    (trained,) = islice(stacked.separate(plan, 4), 4, 5)
    (weights,) = islice(stacked.stacked(plan, 4), 4, 5)
    for number, (net, own) in enumerate(zip(trained, tokens, strict=True)):
        stacked_weights = {name: weight[number] for name, weight in weights.items()}
        logits = functional_call(nets[0], stacked_weights, (own, ids, 2))
        torch.testing.assert_close(logits, net(own, ids, 2), atol=5e-3, rtol=0)
        assert (logits - untrained[number]).abs().max() > 0.02


@pytest.mark.parametrize("path", sorted(SPEED.glob("*.csv")), ids=lambda path: path.stem)
def test_the_page_shows_what_was_measured(path: Path) -> None:
    """Tables of pages that go through everything stand in the pages of encodings and tasks."""
    page = (SPEED / "README.md").read_text()
    if f"<!-- {path.stem} -->" not in page:
        assert path.stem in ("encodings", "tasks")
        return
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            value = f"{row['median']} {row['unit']}".rstrip()
            spread = f"{row['least']} to {row['most']}"
            line = f"| {row['figure']} | {value} | {spread} | {row['aim']} | {row['met']} |"
            assert line in page.splitlines()
