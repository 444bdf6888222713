"""An encoding is one file and one yaml: put into a copy of the project, it is known everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY, rows, runs

from posenc.choosing import PROJECT

CLASS = '''"""Parity of the position, added along a learned direction.

A made-up encoding, arXiv 0000.00000.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.shapes import Shape


class EvenOdd(Encoding):
    """x + loudness * (position mod 2) * w, with w learned."""

    def __init__(self, shape: Shape, *, loudness: float = 2.0) -> None:
        super().__init__(shape)
        self.loudness = loudness
        self.direction = nn.Parameter(torch.randn(shape.width))

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + self.loudness * (ids % 2).to(x.dtype)[:, :, None] * self.direction
'''
YAML = "name: even_odd\n_target_: posenc.encodings.even_odd.EvenOdd\nloudness: 2.0\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with an encoding more than this one."""
    copy = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ("src", "configs", "scripts", "tests"):
        shutil.copytree(PROJECT / folder, copy / folder, ignore=ignored)
    for file in ("train.py", "pyproject.toml"):
        shutil.copy(PROJECT / file, copy)
    (copy / "src" / "posenc" / "encodings" / "even_odd.py").write_text(CLASS)
    (copy / "configs" / "encoding" / "even_odd.yaml").write_text(YAML)
    return copy


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in the copy, whose package comes before the one that is installed."""
    environment = {**os.environ, "PYTHONPATH": str(project / "src"), "COLUMNS": "300"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True
    )


def test_help_lists_it(project: Path):
    ended = python(project, "train.py", "--help")
    lines = ended.stdout.replace("\n    ", " ").splitlines()
    (line,) = (line for line in lines if line.startswith("encoding: "))
    assert "even_odd" in line.split(": ")[1].split(", ")


def test_misspelling_its_setting_is_refused_as_for_any_other(project: Path):
    ended = python(project, "train.py", "encoding=even_odd", "+encoding.loudnes=1")
    assert ended.returncode == 2
    assert ended.stderr == "error: encoding.loudnes: no such key; did you mean 'loudness'?\n"


def test_sweep_trains_it_beside_the_others_in_the_outputs_of_the_project(project: Path):
    choice = ("encoding=none,even_odd", "model=encoder,decoder")
    ended = python(project, "train.py", "-m", *TINY, *choice)
    assert ended.returncode == 0, ended.stderr
    names = [folder.parent.name for folder in runs(project / "outputs")]
    assert sorted(names) == [
        "decoder-even_odd-index", "decoder-none-index", "encoder-even_odd-index",
        "encoder-none-index",
    ]  # fmt: skip
    for folder in runs(project / "outputs"):
        assert {row["encoding"] for row in rows(folder / "lengths.csv")} == {
            folder.parent.name.split("-")[1]
        }


def test_tests_discover_it_and_it_passes_them(project: Path):
    tests = ("-m", "pytest", "-p", "no:cacheprovider", "tests/encodings/test_encoding_contract.py")
    ended = python(project, *tests, "-k", "even_odd", "-rp")
    assert ended.returncode == 0, ended.stdout
    passed = [line for line in ended.stdout.splitlines() if line.startswith("PASSED")]
    assert len([line for line in passed if "even_odd" in line]) > 10
