"""The README is true: its commands run, its tables and paths are those of the code."""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import polars as pl
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from posenc.catalogue import fill
from posenc.results.records import RunFolder
from posenc.schema import CONFIGS, PROJECT, load

README = (PROJECT / "README.md").read_text()
INSTALL, TEST, *USE = re.findall(r"^```bash\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
COMMANDS = [line.partition("  #")[0].strip() for block in USE for line in block.splitlines()]
QUICK = "trainer.max_steps=4 eval.samples=8 data.batch_size=4 length.test=24 outputs=outputs"
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


def test_the_tables_are_up_to_date() -> None:
    assert fill(README) == README, "run scripts/catalogue.py"


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
        if command.startswith("tensorboard"):
            continue
        if command.startswith("python train.py") and "--help" not in command:
            command += f" {QUICK} logger=none"
        if "report.py" in command:
            command += " outputs"
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
    assert done == len(COMMANDS) - 1
    assert not broken.exists()
    assert len(list(desk.glob("outputs/who_bit_whom/encoder-t5-index/seed*"))) == 5


def test_tensorboard_serves_the_runs(desk: Path) -> None:
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


def test_the_added_encoding_works_and_is_listed(tmp_path: Path) -> None:
    for name in ("src", "configs", "scripts"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    for name in ("train.py", "README.md"):
        shutil.copy(PROJECT / name, tmp_path)
    (python,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    (yaml,) = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    (tmp_path / "src/posenc/encodings/mine.py").write_text(python)
    (tmp_path / "configs/encoding/mine.yaml").write_text(yaml)
    command = f"PYTHONPATH=src python train.py encoding=mine encoding.steepness=2 {QUICK}"
    bash(command, tmp_path)
    assert list(tmp_path.glob("outputs/who_bit_whom/encoder-mine-index/seed0-*/lengths.csv"))
    bash("PYTHONPATH=src python scripts/catalogue.py", tmp_path)
    assert (
        "| `mine` | A bias that falls with the square root" in (tmp_path / "README.md").read_text()
    )


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
