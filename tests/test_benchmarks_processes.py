"""Benchmarks of whole processes: what they make of what they measure, and, slowly, that they do."""

import csv
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from posenc.benchmarks import figures, memory, processes, report, start, sweep, threads
from posenc.benchmarks.figures import Figure
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import Ended, call, run
from posenc.errors import RunFailed
from posenc.results.reading import RUN, read

TWO = Plan(rounds=2)
SMOKE = Plan(rounds=1, smoke=True)


class Clock:
    """Time that passes only where a replaced process takes it."""

    def __init__(self) -> None:
        self.now = 0.0

    def takes(self, seconds: float) -> Ended:
        self.now += seconds
        return Ended(seconds, 100.0, "", "")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(figures, "perf_counter", lambda: clock.now)
    return clock


def named(found: list[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in found}


def test_a_process_is_timed_and_weighed_without_the_one_that_starts_it() -> None:
    own = bytearray(200 * 2**20)
    own[::4096] = b"x" * len(own[::4096])  # resident only once it is written to
    small = run("-c", "import time; time.sleep(0.3); print('a'); print('b')")
    assert 0.3 < small.seconds < 3
    assert 1 < small.megabytes < 100
    assert small.output == "a\nb"
    large = run("-c", "b'x' * (150 * 2**20)")
    assert 150 < large.megabytes - small.megabytes + 1 < 160
    assert large.output == ""


def test_a_process_has_the_environment_of_this_one_and_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OF_THIS", "1")
    source = "import os; print(os.environ['OF_THIS'], os.environ['MORE'])"
    assert run("-c", source, environment={"MORE": "2"}).output == "1 2"


def test_how_a_process_failed_is_told() -> None:
    source = "import sys; print('noise', file=sys.stderr); sys.exit('error: what is wrong')"
    with pytest.raises(RunFailed, match=r"^error: what is wrong$"):
        run("-c", source)
    with pytest.raises(RunFailed, match=r"^exit code 3$"):
        run("-c", "raise SystemExit(3)")
    with pytest.raises(RunFailed, match=r"^exit code 0$"):
        run("-c", "pass", code=3)
    with pytest.raises(RunFailed, match=r"^exit code -9$"):
        run("-c", "import os; os.kill(os.getpid(), 9)")
    assert run("-c", "raise SystemExit(3)", code=3).output == ""


def test_the_first_step_is_compared_with_the_libraries(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    seconds = {"--help": 0.5, "encoding=rpoe": 2.0, "import": 3.0}
    checked = []

    def called(function: Callable[[], None], *arguments: str, **_: Any) -> Ended:
        if function is start.first_step:
            assert arguments[1] == "a=b"
            return clock.takes(6.0)
        checked.append(arguments[-1])
        return clock.takes(100)

    def ran(*arguments: str, code: int = 0) -> Ended:
        assert code == start.LIGHT.get(arguments[-1], 0)
        assert ("os._exit(0)" in arguments[-1]) == arguments[-1].startswith("import")
        return clock.takes(seconds[arguments[-1].partition(" ")[0]])

    monkeypatch.setattr(start, "call", called)
    monkeypatch.setattr(start, "run", ran)
    found = list(start.measure(Plan(2, ("a=b",))))
    assert checked == ["--help", "encoding=rpoe"]
    assert (found[0].unit, found[0].rounds, found[0].met) == ("", [2.0, 2.0], "no")
    assert [(each.median, each.met) for each in found[1:]] == [
        (6.0, ""), (3.0, ""), (0.5, "yes"), (2.0, "no"),
    ]  # fmt: skip


def test_a_light_command_must_not_import_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").touch()
    script, environment = tmp_path / "script.py", {"PYTHONPATH": str(tmp_path)}
    script.write_text("raise SystemExit(2)")
    call(start.without_torch, str(script), code=2, environment=environment)
    script.write_text("import torch; raise SystemExit(2)")
    with pytest.raises(RunFailed, match=r"script.py --help: imports torch$"):
        call(start.without_torch, str(script), "--help", code=2, environment=environment)


def test_memory_is_that_above_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = []

    def called(function: Callable[[], None], *arguments: str) -> Ended:
        if function is memory.imported:
            assert arguments == ("torch", "rich")
            return Ended(1.0, 400.0, "80.5", "")
        weighed.append(arguments[1:-1])
        told = {"stages": {"it is trained": 450.0}, "files": 90.5, "modules": ["torch", "rich"]}
        return Ended(9.0, 500.0, f"the result\n{json.dumps(told)}", "")

    monkeypatch.setattr(memory, "call", called)
    found = list(memory.measure(Plan(1, ("trainer.max_steps=50",))))
    assert weighed == [
        ("trainer.max_steps=50",),
        ("trainer.max_steps=50", "trainer.max_steps=5"),
    ]
    assert [each.median for each in found] == [100.0, 50.0, 10.0, 400.0, 1.0]
    assert (found[0].unit, found[0].met) == ("MB", "yes")
    assert "until it is trained" in found[1].name


def test_libraries_are_imported_by_name(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["", "this_is_no_module", "colorsys"])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    memory.imported()
    assert "colorsys" in sys.modules
    assert 1 < float(capsys.readouterr().out) < 2000


def test_a_sweep_in_series_is_divided_by_one_side_by_side(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    given, jobs = [], 3

    def trained(outputs: str, *settings: str) -> Ended:
        given.append(settings)
        for job in range(jobs):
            (Path(outputs) / str(job)).mkdir()
            (Path(outputs) / str(job) / "lengths.csv").touch()
        return clock.takes(10.0 if "launcher=joblib" in settings else 20.0)

    monkeypatch.setattr(sweep, "train", trained)
    monkeypatch.setattr(sweep, "cores", lambda jobs: 3)
    series, joblib, ratio = sweep.measure(Plan(2, ("a=b",)))
    assert set(given) == {
        ("-m", "seed=range(3)", "a=b"),
        ("-m", "seed=range(3)", "a=b", "launcher=joblib"),
    }
    assert given[0] != given[1] == given[2] != given[3]
    assert (series.median, joblib.median) == (20.0, 10.0)
    assert (ratio.rounds, ratio.at_least, ratio.met) == ([2.0, 2.0], pytest.approx(2.55), "no")
    jobs = 2
    with pytest.raises(RunFailed, match="2 of 3 jobs"):
        list(sweep.measure(TWO))


def test_steps_beside_others_are_divided_by_those_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def step(settings: list[str], environment: dict[str, str], busy: int) -> float:
        asked.append((settings[0], bool(environment), busy))
        return 10.0 + 5 * busy

    monkeypatch.setattr(threads, "_step", step)
    monkeypatch.setattr(threads, "cores", lambda jobs: 2)
    found = named(list(threads.measure(TWO)))
    assert len(asked) == 2 * len(found) == 2 * 9
    assert {each for each in asked if each[1]} == {("threads=2", True, busy) for busy in range(3)}
    assert {name: figure.at_most for name, figure in found.items() if "beside" in name} == {
        "1 thread, 1 busy beside / alone": 3.0,
        "1 thread, 2 busy beside / alone": 4.5,
        "2 threads, 1 busy beside / alone": 4.5,
        "2 threads, 2 busy beside / alone": 6.0,
        "2 threads, unbound, 1 busy beside / alone": None,
        "2 threads, unbound, 2 busy beside / alone": None,
    }
    assert found["2 threads, 2 busy beside / alone"].rounds == [2.0, 2.0]
    assert found["2 threads, alone"].rounds == [10.0, 10.0]


def test_busy_processes_are_there_while_a_run_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    popen = threads.subprocess.Popen

    def begun(command: list[str]) -> Any:
        started.append(popen(command))
        return started[-1]

    def trained(outputs: str, *settings: str, environment: dict[str, str]) -> Ended:
        assert (settings, environment) == (("a=b",), {"X": "1"})
        assert [each.poll() for each in started] == [None, None]
        (Path(outputs) / "run.json").write_text('{"train_seconds": 3.0, "trained_steps": 100}')
        return Ended(9.0, 1.0, "", "")

    monkeypatch.setattr(threads.subprocess, "Popen", begun)
    monkeypatch.setattr(threads, "train", trained)
    assert threads._step(["a=b"], {"X": "1"}, 2) == 30.0
    assert [each.poll() for each in started] == [-9, -9]


def test_all_runs_of_a_report_are_counted(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, tmp_path: Path
) -> None:
    encodings = ["none", "rope", "alibi"]
    number = report.write_runs(SMOKE, tmp_path, ["copy", "reverse"], encodings)
    found = read([tmp_path])
    assert found.skipped == []
    assert found.rows.select(RUN).n_unique() == number == 2 * 3 * 5
    assert set(found.rows["encoding"]) == set(encodings)
    assert found.rows.select("task", "encoding", "fingerprint").n_unique() == 6
    assert found.rows.filter("in_range")["exact"].min() == 1
    assert found.rows.filter(~found.rows["in_range"])["exact"].n_unique() > 20
    errors, short = "", 0

    def reported(script: str, outputs: str, _: str, out: str, *given: str) -> Ended:
        runs = [
            ("copy", each, seed) for each in ("none", "rope", "alibi", "t5") for seed in "01234"
        ]
        with (Path(out) / "results.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([("task", "encoding", "seed"), *runs[short:], runs[-1]])
        return clock.takes(4.0 if given else 12.0)._replace(errors=errors)

    monkeypatch.setattr(report, "run", reported)
    monkeypatch.setattr(report, "write_runs", lambda *_: 20)
    some, every = report.measure(TWO)
    assert (some.rounds, some.met, every.rounds, every.met) == ([4, 4], "yes", [12, 12], "no")
    short = 1
    with pytest.raises(RunFailed, match="counted 19 of 20"):
        list(report.measure(TWO))
    short, errors = 0, "left out: x: y\nwrote it"
    with pytest.raises(RunFailed, match="left out: x: y"):
        list(report.measure(TWO))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["start", "memory", "sweep", "threads", "report"])
def test_it_measures(name: str) -> None:
    found = list(import_module(f"posenc.benchmarks.{name}").measure(SMOKE))
    assert found
    assert all(figure.median > 0 for figure in found if figure.unit != "MB")
    assert all(len(figure.rounds) == 1 for figure in found)


def test_what_train_says_is_told_where_it_fails(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"^error: encoding=rpoe.* did you mean 'rope'\?"):
        processes.train(tmp_path, "encoding=rpoe")
    assert list(tmp_path.iterdir()) == []
