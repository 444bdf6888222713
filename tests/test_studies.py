"""Studies: each can be run, was run, and its page says what its kept rows do."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
from command_line import TINY, runs

from posenc import planning
from posenc.choosing import PROJECT
from posenc.errors import ConfigError
from posenc.results.claims import judge
from posenc.results.comparing import ALL, ENOUGH
from posenc.results.expected import EXPECTED
from posenc.results.panels import panels
from posenc.results.reading import read
from posenc.results.report import document
from posenc.results.studies import Study, index

EXPERIMENTS = PROJECT / "experiments"
NAMES = sorted(path.parent.name for path in EXPERIMENTS.glob(f"*/{EXPECTED}"))
NARROWED = {"catalogue": ["task=flip_flop"]}
"""What is taken of a grid that would take a minute."""
KEPT = [name for name in NAMES if (EXPERIMENTS / name / "results.csv").exists()]


def script(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/report.py", *arguments]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The script and a study, in a folder of their own."""
    shutil.copytree(PROJECT / "scripts", tmp_path / "scripts")
    shutil.copytree(EXPERIMENTS / "who_bit_whom", tmp_path / "experiments" / "who_bit_whom")
    return tmp_path


def test_there_are_studies() -> None:
    assert "who_bit_whom" in KEPT


@pytest.mark.parametrize("name", NAMES)
def test_every_study_runs_as_a_grid(name: str, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    tiny = [each for each in TINY if not each.startswith(("length.", "trainer.max_steps"))]
    quick = [
        *tiny,
        "trainer.max_steps=1",
        "eval.samples=2",
        "eval.probe_every=9",
        "seed=0",
        *NARROWED.get(name, []),
    ]
    ended = command_line.run(f"experiment={name}", *quick, f"outputs={outputs}")
    assert ended.code == 0, ended.err
    assert "not decided by these runs" not in ended.err
    several = panels(read([outputs]))
    assert len(runs(outputs)) == sum(len(panel.contenders) for panel in several)
    for claim in Study.named(name, EXPERIMENTS).claims:
        told = judge(claim._replace(view=ALL), several)
        assert len(told.margins) == 1, told.reason


@pytest.mark.parametrize("name", KEPT)
def test_every_claim_has_its_runs(name: str) -> None:
    study = Study.named(name, EXPERIMENTS)
    several = panels(study.kept())
    for claim in study.claims:
        told = judge(claim._replace(view=ALL), several)
        assert len(told.margins) >= ENOUGH, told.reason


@pytest.mark.parametrize("name", KEPT)
def test_every_page_says_what_the_rows_do_and_how_to_get_them(name: str) -> None:
    study = Study.named(name, EXPERIMENTS)
    page = study.page.read_text()
    told = document(study.kept(), claims=study.claims, metric=study.metric)
    assert study.filled(told) == page, f"run scripts/report.py --study {name}"
    assert f"python train.py experiment={name}" in page
    assert "](figure.png)" in page
    assert (study.folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_kept_rows_renew_figure_and_page_and_nothing_else(copied: Path) -> None:
    folder = copied / "experiments" / "who_bit_whom"
    page, figure = folder / "README.md", folder / "figure.png"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    page.write_text(re.sub(r"(?s)(<!-- result -->\n).*(<!-- end -->)", r"\1\2", page.read_text()))
    figure.unlink()
    done = script(copied, "--study", "who_bit_whom")
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"wrote {figure}, {page}\n"
    assert "## Claims\n\n- Of 4 statements 4 reproduced." in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} | {"figure.png": b""} == (
        before | {"figure.png": b""}
    )


def test_claims_that_cannot_be_read_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "EXPERIMENTS", tmp_path)
    (tmp_path / "parity").mkdir()
    path = tmp_path / "parity" / EXPECTED
    path.write_text("- says: all is well\n")
    outputs = tmp_path / "outputs"
    ended = command_line.run("experiment=parity", f"outputs={outputs}")
    assert ended.code == 2
    assert ended.err.endswith(
        f"error: {path}: claim 1: takes says, holds, task, model, and may have runs, not says\n"
    )
    assert not runs(outputs)


def test_claims_that_these_runs_do_not_decide_are_told(tmp_path: Path) -> None:
    ended = command_line.run(
        "experiment=parity", *TINY[:3], "encoding=rope,t5", "seed=0", "trainer.max_steps=1",
        "eval.samples=2", "logger=none", f"outputs={tmp_path}",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    told = (
        "not decided by these runs: exact(none, 14) > chance(14) + 0.2 (parity, decoder: no none)"
    )
    assert f"{told} and 3 more\n" in ended.err


def test_a_page_without_a_place_for_its_tables_is_refused(copied: Path) -> None:
    page = copied / "experiments" / "who_bit_whom" / "README.md"
    page.write_text("# Who bit whom\n")
    done = script(copied, "--study", "who_bit_whom")
    assert done.returncode == 2
    assert done.stderr == f"error: {page}: has no lines <!-- result --> and <!-- end -->\n"


def test_own_runs_are_judged_and_leave_the_kept_ones_alone(copied: Path) -> None:
    folder = copied / "experiments" / "who_bit_whom"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows = shutil.copy(folder / "results.csv", copied / "mine.csv")
    done = script(copied, rows, "--study", "who_bit_whom", "--out", str(copied / "mine.md"))
    assert done.returncode == 0, done.stderr
    assert "Of 4 statements 4 reproduced." in (copied / "mine.md").read_text()
    assert "Of 4 statements 4 reproduced." in (copied / "mine.html").read_text()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_runs_with_other_settings_are_named(copied: Path) -> None:
    kept = (copied / "experiments" / "who_bit_whom" / "results.csv").read_text()
    (copied / "mine.csv").write_text(re.sub(r"(decoder,none,index,\d,)\w+", r"\g<1>0", kept))
    done = script(copied, "mine.csv", "--study", "who_bit_whom", "--out", "mine.md")
    assert done.returncode == 0, done.stderr
    said = "Not with the settings of the kept runs of who_bit_whom: none."
    assert said in done.stdout
    assert said in (copied / "mine.md").read_text()
    (copied / "mine.csv").write_text(kept)
    done = script(copied, "mine.csv", "--study", "who_bit_whom", "--out", "mine.md")
    assert "Not with the settings" not in done.stdout


@pytest.mark.parametrize("missing", ["page", "end"])
def test_a_page_that_is_not_whole_is_named(missing: str, copied: Path) -> None:
    page = copied / "experiments" / "who_bit_whom" / "README.md"
    before = page.read_text()
    page.unlink()
    if missing == "end":
        page.write_text(before.replace("<!-- end -->", ""))
    done = script(copied, "--study", "who_bit_whom")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {page}: ")


def test_a_format_that_is_asked_for_is_all_that_is_written(copied: Path) -> None:
    page = copied / "experiments" / "who_bit_whom" / "README.md"
    page.write_text(page.read_text().replace("| alibi |", "| mine |"))
    done = script(copied, "--study", "who_bit_whom", "--format", "svg")
    assert done.stderr == f"wrote {page.parent / 'figure.svg'}\n"
    assert "| mine |" in page.read_text()


@pytest.mark.parametrize(
    ("statements", "metric"),
    [
        (["bits(rope, 9) < 1", "bits(t5, 9) > 1"], "bits"),
        (["bits(rope, 9) < 1", "score(rope) > 0"], "exact"),
        (["token(rope, each) > 0"], "token_accuracy"),
        (["token_score(rope) > 0", "token(rope, 9) > token_chance(9)"], "token_accuracy"),
        (["bits(rope, 9) < 1", "holds_to(rope) > 5"], "exact"),
        (["holds_to(rope) > 5"], "exact"),
        ([], "exact"),
    ],
)
def test_a_figure_shows_what_the_claims_are_about(
    statements: list[str], metric: str, tmp_path: Path
) -> None:
    claims = [
        {"says": "x", "holds": each, "task": "copy", "model": "decoder"} for each in statements
    ]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / EXPECTED).write_text(json.dumps(claims))
    assert Study.named("new", tmp_path).metric == metric


def test_a_study_without_claims_ranks(copied: Path) -> None:
    folder = copied / "experiments" / "three_tasks"
    shutil.copytree(EXPERIMENTS / "three_tasks", folder)
    (folder / EXPECTED).write_text("[]\n")
    page = folder / "README.md"
    page.write_text("# Three\n\n**Question.** Which?\n\n<!-- result -->\n<!-- end -->\n")
    done = script(copied, "--study", "three_tasks")
    assert done.returncode == 0, done.stderr
    assert "## Claims" not in done.stdout
    first, *others = re.findall("(?m)^### (.*)", page.read_text())
    assert first == "Across tasks, encoder"
    assert others == ["even_pairs, encoder", "first_of_two, encoder", "who_bit_whom, encoder"]
    assert "three_tasks/README.md) | Which? | 45 | none: a ranking |" in index(folder.parent)


def test_another_metric_of_a_kept_study_goes_to_another_place(copied: Path) -> None:
    folder = copied / "experiments" / "who_bit_whom"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = script(copied, "--study", "who_bit_whom", "--metric", "bits")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --metric bits: the figure of a study shows exact")
    for name in ("figure.png", "figure.svg"):
        done = script(
            copied, "--study", "who_bit_whom", "--metric", "bits", "--out", str(folder / name)
        )
        assert done.returncode == 2
    done = script(
        copied, "--study", "who_bit_whom", "--metric", "bits", "--out", "new", "--format", "png"
    )
    assert done.stderr == "wrote new/figure.png\n"
    same = script(copied, "--study", "who_bit_whom", "--metric", "exact", "--format", "svg")
    assert same.returncode == 0, same.stderr
    (folder / "figure.svg").unlink()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_such_study_is_refused_with_the_choices(copied: Path) -> None:
    done = script(copied, "--study", "copyy")
    assert done.returncode == 2
    assert done.stderr == "error: --study copyy: choose one of who_bit_whom\n"
    folder = copied / "experiments" / "mine"
    folder.mkdir()
    done = script(copied, "--study", "mine")
    assert done.stderr.startswith(f"error: --study mine: {folder} has no {EXPECTED}; choose one")


def test_a_study_without_rows_says_how_to_get_them(copied: Path) -> None:
    (copied / "experiments" / "who_bit_whom" / "results.csv").unlink()
    done = script(copied, "--study", "who_bit_whom")
    assert done.returncode == 2
    assert "no rows are kept; run python train.py experiment=who_bit_whom" in done.stderr


def test_the_report_that_a_page_names_is_written(copied: Path) -> None:
    page = copied / "experiments" / "who_bit_whom" / "README.md"
    (command,) = re.findall("`python (scripts/report.py .*--out .*)`", page.read_text())
    done = subprocess.run([sys.executable, *command.split()], cwd=copied, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "How to read this" in (copied / "outputs" / "who_bit_whom.html").read_text()


@pytest.mark.parametrize(
    "end", ["\n\nMore.", "", "\n", "\n<!-- result -->", "\n# More", "\n \nMore"]
)
def test_a_question_ends_where_its_paragraph_does(end: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / EXPECTED).write_text("[]")
    (tmp_path / "new" / "README.md").write_text(f"# New\n\n**Question.**\nWhich | one\nis it?{end}")
    assert Study.named("new", tmp_path).question == "Which \\| one is it?"


@pytest.mark.parametrize("page", ["\n\n<!-- result -->", "\n\n## Next", "", " \n"])
def test_what_is_no_question_is_none(page: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / EXPECTED).write_text("[]")
    (tmp_path / "new" / "README.md").write_text(f"# New\n\n**Question.**{page}")
    with pytest.raises(ConfigError, match="has no paragraph that begins with"):
        Study.named("new", tmp_path).question  # noqa: B018


def test_a_page_is_never_written_over_and_a_link_stays_one(copied: Path) -> None:
    folder = copied / "experiments" / "who_bit_whom"
    page, figure = folder / "README.md", folder / "figure.png"
    before = page.read_bytes()
    done = script(copied, "--study", "who_bit_whom", "--out", str(page), "--format", "md,svg")
    assert done.stderr == f"wrote {folder / 'README.svg'}\n"
    assert page.read_bytes() == before
    linked = figure.rename(copied / "elsewhere.png")
    figure.symlink_to(linked)
    linked.write_bytes(b"")
    done = script(copied, "--study", "who_bit_whom", "--metric", "bits", "--out", str(folder))
    assert done.returncode == 2
    done = script(copied, "--study", "who_bit_whom", "--out", str(folder))
    assert done.stderr == f"wrote {folder / 'figure.png'}\n"
    assert figure.is_symlink()
    assert linked.read_bytes().startswith(b"\x89PNG")


def test_a_page_that_is_no_text_is_refused(copied: Path) -> None:
    page = copied / "experiments" / "who_bit_whom" / "README.md"
    page.write_bytes(b"\xff\xfe")
    done = script(copied, "--study", "who_bit_whom")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {page}: ")


def test_all_studies_are_listed_with_what_came_of_them(copied: Path) -> None:
    experiments = copied / "experiments"
    shutil.copytree(experiments / "who_bit_whom", experiments / "another")
    (experiments / "another" / "results.csv").unlink()
    head, _, *rows = index(experiments).splitlines()
    question = Study.named("who_bit_whom", EXPERIMENTS).question
    assert head == "| study | question | runs | statements |"
    assert rows == [
        f"| [another](experiments/another/README.md) | {question} |  | not run yet |",
        f"| [who_bit_whom](experiments/who_bit_whom/README.md) | {question} | 45 | 4 reproduced |",
    ]
    assert question.startswith("Can attention tell who bites")
