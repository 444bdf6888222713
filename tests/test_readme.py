"""The README is true: its commands run, its tables and paths are those of the code."""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import posenc.encodings
from posenc.building import make_task
from posenc.catalogue import classes, fill, page, stands_for
from posenc.choosing import CONFIGS, PROJECT, choices, defaults_of
from posenc.model.attention import attention_weights, context
from posenc.portrait import model_for
from posenc.results.reading import read
from posenc.results.records import RunFolder
from posenc.results.report import document, summary
from posenc.schema import Config, load

README = (PROJECT / "README.md").read_text()
INSTALL, TEST, *USE = re.findall(r"^```bash\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
YAML = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
COMMANDS = [line.partition("  #")[0].strip() for block in USE for line in block.splitlines()]
QUICK = "trainer.max_steps=4 eval.samples=8 data.batch_size=4 length.test=24 outputs=outputs"
STUDY = QUICK.replace(
    "length.test=24 outputs=outputs", "outputs=outputs/studies/repeat_token seed=0"
)
"""The same for a study that has lengths of its own."""
MINE = """# @package _global_
defaults:
  - override /task: first_of_two
sweeper:
  grids:
    - encoding: rope,sinusoidal
    - encoding: rope
      positions: random
outputs: ${posenc_project:outputs}/studies/mine
hydra:
  mode: MULTIRUN
"""
ELSEWHERE = ("tensorboard", "pip install")
"""Tests of their own run the former; whoever runs these has done the latter."""
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(PROJECT / "src"),
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
}


def bash(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=ENVIRONMENT, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the commands find what they name, with outputs of its own."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("train.py", "scripts"):
        (folder / name).symlink_to(PROJECT / name)
    return folder


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of what the catalogue is made of and goes into."""
    for name in ("src", "configs", "scripts", "experiments"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    for name in ("train.py", "README.md"):
        shutil.copy(PROJECT / name, tmp_path)
    return tmp_path


def test_the_tables_are_up_to_date() -> None:
    assert fill(README) == README, "run scripts/catalogue.py"


def test_every_task_stands_in_a_family() -> None:
    families = README.partition("| family | `task=` |")[2].partition("\n\n")[0]
    named = [name for row in families.splitlines()[2:] for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == choices("task")


def test_every_task_has_a_section_that_says_all(configured: Callable[..., Config]) -> None:
    text = (PROJECT / "experiments" / "tasks" / "README.md").read_text()
    for name in classes("task"):
        own = page("task", name)
        assert f"\n## {name}\n\n{own.own}\n" in text
        (row,) = re.findall(rf"^\| \[`{name}`\]\(#{name}\) \|.*$", text, re.MULTILINE)
        assert all(f"`{part}`" in row for part in own.problem)
        assert ("| no |" in row) == (not make_task(configured(f"task={name}")).order_matters)
        assert own.links in row


def test_the_pages_are_up_to_date(copied: Path) -> None:
    bash("PYTHONPATH=src python scripts/catalogue.py", copied)
    for name in ("README.md", "experiments/encodings/README.md", "experiments/tasks/README.md"):
        assert (copied / name).read_text() == (PROJECT / name).read_text(), "run catalogue.py"


@pytest.mark.parametrize("name", classes())
def test_every_encoding_has_a_formula_and_says_what_happens_beyond(name: str) -> None:
    own = page("encoding", name)
    assert own.formula
    assert not own.formula.startswith(" ")
    assert " ".join(own.text.split()).count("Past the trained length") == 1
    assert own.beyond.startswith("Past the trained length")
    assert own.beyond.endswith(".")


def test_an_alias_is_listed_as_what_it_stands_for() -> None:
    aliases = set(choices("encoding")) - set(classes())
    assert all(stands_for("encoding", alias) for alias in aliases)
    assert "| `coupled` | stands for `encoding=learned positions=task` |" in README


def test_results_and_speed_stand_in_the_page(copied: Path) -> None:
    header = "task,encoding,model,positions,seed,fingerprint,length,in_range,exact"
    rows = [
        "who_bit_whom,alibi,encoder,index,0,a,20,true,1.0",
        "who_bit_whom,alibi,encoder,index,0,a,40,false,0.75",
        "who_bit_whom,alibi,encoder,index,1,b,40,false,0.0",
        "who_bit_whom,alibi,encoder,random,0,c,40,false,0.0",
        "copy,alibi,encoder,index,0,g,40,false,0.0",
        "who_bit_whom,none,encoder,index,0,d,20,true,0.5",
        "who_bit_whom,cope,decoder,index,0,e,20,true,1.0",
    ]
    folder = copied / "experiments" / "encodings"
    (folder / "results.csv").write_text("\n".join([header, *rows]))
    speed = copied / "experiments" / "speed"
    (speed / "encodings.csv").write_text("figure,unit,median\nalibi,,1.0625\n")
    bash("PYTHONPATH=src python scripts/catalogue.py", copied)
    text = (folder / "README.md").read_text()
    assert "| [`alibi`](#alibi) | bias | 0 | 1.00 | 0.75 | – | 1.06 |" in text
    assert "| [`none`](#none) | – | 0 | (0.50) | – | – | – |" in text
    assert r"| [`cope`](#cope) \* | score | 2,048 | 1.00 | – | – | – |" in text
    with (folder / "results.csv").open("a") as results:
        results.write("\nwho_bit_whom,alibi,encoder,index,0,f,40,false,0.9")
    refused = subprocess.run(
        [sys.executable, "scripts/catalogue.py"],
        cwd=copied, env=ENVIRONMENT | {"PYTHONPATH": "src"}, text=True, capture_output=True,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (2, "")
    runs = "task=who_bit_whom encoding=alibi model=encoder seed=0"
    assert refused.stderr == f"error: results.csv: several runs of {runs}; keep one of them\n"
    assert (folder / "README.md").read_text() == text


def test_encodings_can_be_imported_with_torch_alone() -> None:
    """A new one need not be among them: it has a module of its own to be imported from."""
    names = {defaults_of("encoding", name)["_target_"].split(".")[-1] for name in classes()}
    exported = posenc.encodings.__all__
    assert {"Sinusoidal", "RoPE", "ALiBi"} <= set(exported) <= names
    heavy = ("hydra", "omegaconf", "pytorch_lightning", "polars", "altair", "scipy", "rich")
    program = f"""
import sys
from posenc.encodings import {", ".join(exported)}
assert not set(sys.modules) & set({heavy})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_examples_for_other_models_run() -> None:
    additive, rotary, bias, _ = PYTHON
    given: dict[str, Any] = {}
    exec(additive, given)
    assert given["x"].shape == (1, 20, 512)
    exec(rotary, given)
    turned = given["mixed"]
    own = {name: given[name] for name in ("q", "k", "v")}
    exec(bias, given)
    logits = own["q"] @ own["k"].mT / 8 + given["bias"]
    torch.testing.assert_close(given["mixed"], logits.softmax(dim=-1) @ own["v"])
    assert turned.shape == given["mixed"].shape == (1, 8, 20, 64)
    assert not torch.allclose(turned, given["mixed"])


@pytest.mark.parametrize("name", ["ALiBi", "TUPE", "T5", "FIRE", "Sandwich"])
def test_the_example_of_a_bias_is_the_attention_of_a_network(name: str) -> None:
    additive, rotary, bias, _ = PYTHON
    given: dict[str, Any] = {}
    exec(additive + rotary, given)
    q, k, v = (given[each] for each in "qkv")
    exec(bias.replace("ALiBi", name), given)
    encoding = given["encoding"]
    asked = context(encoding, given["ids"], 20)
    turned_q, turned_k = encoding.rotate(q, k, asked.tables)
    weights = attention_weights(turned_q, turned_k, scale=64**-0.5, bias=asked.bias)
    torch.testing.assert_close(given["mixed"], weights @ v)


def test_the_experiment_runs_every_encoding_that_an_encoder_can_have() -> None:
    experiment = OmegaConf.load(CONFIGS / "experiment" / "encodings.yaml")
    glob = re.fullmatch(r"glob\(\*,exclude=\[(.*)\]\)", experiment.hydra.sweeper.params.encoding)
    assert glob is not None
    excluded = glob[1].split(",")
    run = {n for n in choices("encoding") if not any(fnmatchcase(n, each) for each in excluded)}
    assert run == {name for name in classes() if model_for(name) == "encoder"}


def test_the_continuous_integration_runs_the_first_two_commands() -> None:
    script = (PROJECT / ".ci" / "run").read_text()
    found = re.search(r"^commands=\$\((awk .*)\)$", script, re.MULTILINE)
    assert found is not None
    assert bash(found[1], PROJECT) == INSTALL + TEST


def test_the_first_command_pins_what_it_installs() -> None:
    assert "-c constraints.txt" in INSTALL
    assert "-c constraints.txt" in TEST
    assert "torch==2.13.0" in (PROJECT / "constraints.txt").read_text().splitlines()


def test_every_command_runs(desk: Path) -> None:
    """In the order in which a reader meets them, with far fewer steps and samples."""
    bash(f"{INSTALL.splitlines()[-1]} {QUICK}", desk)
    done = 0
    for command in COMMANDS:
        if command.startswith(ELSEWHERE):
            continue
        if command.startswith("python train.py") and "--help" not in command:
            quick = STUDY if "=repeat_token" in command else QUICK
            command += f" {quick} logger=none{' sweeper.trials=2' * ('=tune' in command)}"
        if command.endswith("report.py"):
            command += " outputs"
        if "report.py --study" in command:
            command += " --out pictures"
        if "show.py encoding=" in command:
            command += " out=pictures"
        for path in re.findall(r"run=(\S+)", command):
            assert (desk / path).parent.is_dir(), "the README trains it before it is asked"
            (own,) = (desk / path).parent.glob("seed0-*")
            command = command.replace(path, str(own))
        if "failed" in command:
            broken = desk / "outputs" / "task" / "setup" / "seed0-broken"
            broken.mkdir(parents=True)
            (broken / "run.json").write_text('{\n  "status": "failed"\n}')
        bash(command, desk)
        done += 1
    assert done == sum(not command.startswith(ELSEWHERE) for command in COMMANDS)
    assert not broken.exists()
    assert len(list(desk.glob("outputs/who_bit_whom/encoder-t5-index/seed*"))) == 5


SWEEPS = (PROJECT / "experiments" / "sweeps" / "README.md").read_text()
FOR_ONE_MACHINE = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```$", SWEEPS, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if line.startswith("python")
    and not any(elsewhere in line for elsewhere in ("/shared/", "trainer=gpu", "benchmark.py"))
]


@pytest.mark.slow
def test_every_command_for_many_runs_runs(desk: Path) -> None:
    assert len(FOR_ONE_MACHINE) > 9
    for command in FOR_ONE_MACHINE:
        if command.startswith("python train.py"):
            words, _, last = command.partition("trainer.max_steps=")
            command = f"{words} {last.partition(' ')[2]} {QUICK} logger=none"
        bash(command.replace("status.py", "status.py outputs"), desk)


def test_tensorboard_serves_the_runs(desk: Path) -> None:
    bash(f"{INSTALL.splitlines()[-1]} {QUICK}", desk)
    (command,) = (command for command in COMMANDS if command.startswith("tensorboard"))
    server = subprocess.Popen(
        [*command.split(), "--port", "0"],
        cwd=desk,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stderr is not None
        address = next(
            found[0] for line in server.stderr if (found := re.search(r"http://\S+", line))
        )
        served, patience = "[]", time.monotonic() + 60
        while served == "[]" and time.monotonic() < patience:  # it reads in the background
            with urllib.request.urlopen(f"{address}data/runs", timeout=60) as answer:
                served = answer.read().decode()
            time.sleep(0.5)
        assert "who_bit_whom/encoder-learned-index/seed0-" in served
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"run=(outputs/\S+)", README))))
def test_run_folders_are_those_of_the_default_job(path: str) -> None:
    encoding = path.split("/")[2].split("-")[1]
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = load(compose("train", [f"encoding={encoding}", "outputs=outputs"]))
    settings = OmegaConf.to_container(OmegaConf.structured(config))
    assert RunFolder.of(settings).path == Path(path).resolve()  # type: ignore[arg-type]


def test_a_study_of_ones_own_is_run_kept_drawn_and_listed(copied: Path) -> None:
    claims, _ = YAML
    folder = copied / "experiments/mine"
    folder.mkdir()
    (folder / "expected.yaml").write_text(claims)
    page = "# Mine\n\n**Question.** Which?\n\n<!-- result -->\n<!-- end -->\n"
    (folder / "README.md").write_text(page)
    (copied / "configs/experiment/mine.yaml").write_text(MINE)
    bash(f"PYTHONPATH=src python train.py experiment=mine {QUICK}/studies/mine", copied)
    own = re.findall(r"`(python scripts/[^`]*)`", README.split("A study of your own")[1])[:3]
    assert ["mine" in command for command in own] == [True, True, False]
    for command in own:
        bash(f"PYTHONPATH=src {command}", copied)
    assert "- Of 3 statements 3 undecided." in (folder / "README.md").read_text()
    assert (folder / "figure.png").exists()
    line = "| [mine](experiments/mine/README.md) | Which? | 3 | 3 undecided |"
    assert line in (copied / "README.md").read_text()


def test_the_added_encoding_works_and_is_listed(copied: Path) -> None:
    *_, python = PYTHON
    *_, yaml = YAML
    (copied / "src/posenc/encodings/mine.py").write_text(python)
    (copied / "configs/encoding/mine.yaml").write_text(yaml)
    command = f"PYTHONPATH=src python train.py encoding=mine encoding.steepness=2 {QUICK}"
    bash(command, copied)
    assert list(copied.glob("outputs/who_bit_whom/encoder-mine-index/seed0-*/lengths.csv"))
    bash("PYTHONPATH=src python scripts/catalogue.py", copied)
    line = "| `mine` | A bias that falls with the square root"
    assert line in (copied / "README.md").read_text()
    assert "\n## mine\n" in (copied / "experiments/encodings/README.md").read_text()


@pytest.mark.parametrize("encoding", ["none", "sinusoidal", "learned"])
def test_the_figures_of_three_seeds_are_those_of_the_committed_rows(encoding: str) -> None:
    shown = re.search(rf"^\| `{encoding}` \|( \d.*) \|$", README, re.MULTILINE)
    lengths = re.search(r"^\| exact match at length \| (.*) \|$", README, re.MULTILINE)
    assert shown is not None
    assert lengths is not None
    rows = pl.read_csv(PROJECT / "experiments/who_bit_whom/results.csv").filter(
        encoding=encoding, positions="index", model="encoder"
    )
    for length, cell in zip(lengths[1].split(" | "), shown[1].split(" | "), strict=True):
        exact = rows.filter(pl.col("seed") < 3, length=int(length)).sort("seed")["exact"]
        assert cell.strip() == ", ".join(f"{value:.2f}" for value in exact)


def test_the_verdict_is_that_of_the_committed_rows() -> None:
    rows = PROJECT / "experiments/three_tasks/results.csv"
    told = summary(document(read([rows]))).splitlines()
    verdict = [line for line in told if line.startswith("- ")]
    page = (PROJECT / "experiments/three_tasks/README.md").read_text().splitlines()
    assert len(verdict) > 10
    assert all(line in page for line in verdict), "print it again"
    _, _, shown = README.partition("**first_of_two, encoder**\n\n")
    shown, _, _ = shown.partition("\n\n")
    assert shown in "\n".join(verdict), "print it again"
    assert shown.count("\n- ") > 3
