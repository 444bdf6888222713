"""What scripts/parallel.py makes of what it measures, and, slowly, that it measures."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command_line import TINY, rows, run

from posenc.choosing import PROJECT


@pytest.fixture
def script() -> ModuleType:
    path = PROJECT / "scripts" / "parallel.py"
    spec = importlib.util.spec_from_file_location("parallel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_round_gives_one_ratio_and_the_middle_one_is_told(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
):
    asked = []

    def measured(command: list[str], environment: Any = None) -> tuple[float, float]:
        asked.append([*command, *(environment or {})])
        return (6.0 if "launcher=joblib" in command else 12.0), 10.0 * len(asked)

    monkeypatch.setattr(script, "_run", measured)
    monkeypatch.setattr(script, "cores", lambda jobs: 2)
    monkeypatch.setattr("sys.argv", ["parallel.py", "--rounds", "2", "--out", str(tmp_path), "a=b"])
    script.main()
    table = rows(tmp_path / "parallel.csv")
    sweeps = [row for row in table if row["compared"].startswith("6 jobs")]
    assert [(row["before"], row["after"], row["ratio"]) for row in sweeps] == [
        ("12", "6", "0.5")
    ] * 2
    assert [row["fair"] for row in table[::2]] == ["0.5", "1", "1.5", "1.5", "2", "1.5", "2"]
    for row in table:
        assert float(row["ratio"]) == pytest.approx(
            float(row["after"]) / float(row["before"]), rel=1e-2
        )
    assert all("a=b" in command for command in asked)
    assert sum("GOMP_SPINCOUNT" in command for command in asked) == 8
    out = capsys.readouterr().out
    assert "ratio 0.50 (0.50 to 0.50), fair 0.50" in out
    assert len(out.splitlines()) == 1 + len(table) / 2


@pytest.mark.slow
def test_it_measures(tmp_path: Path):
    small = ("--jobs", "2", "--steps", "3", "--rounds", "1", "--out", str(tmp_path))
    settings = [each for each in TINY if not each.startswith(("trainer.", "logger"))]
    ended = run(*small, *settings, script="scripts/parallel.py")
    assert ended.code == 0, ended.err
    assert all(float(row["ratio"]) > 0 for row in rows(tmp_path / "parallel.csv"))
