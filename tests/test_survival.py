"""A run that is killed at any moment is taken up again and comes to the same, bit for bit."""

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_line import TINY, Ended, only_run, rows, run, started, status, wait_until

from posenc.checkpoint import read_checkpoint
from posenc.results.records import RunFolder

SETTINGS = (
    *TINY, "checkpoint.every=7", "trainer.log_every_n_steps=5", "eval.probe_every=20",
    "model.dropout=0.1", "positions=random", "trainer.accumulate_grad_batches=2",
)  # fmt: skip
COMMAND = (*SETTINGS, "trainer.max_steps=40", "logger=csv")
SEED = 6


class Moment(NamedTuple):
    """A call of a function, and whether the process dies before it, after it, or in its midst."""

    module: str
    function: str
    when: str

    def hook(self, act: Callable[[Any], Any], patch: Callable[..., None] = setattr) -> None:
        """From here on the function is what `act` makes of it."""
        *parents, name = self.function.split(".")
        owner: Any = import_module(self.module)
        owner = attrgetter(".".join(parents))(owner) if parents else owner
        patch(owner, name, act(getattr(owner, name)))

    def __str__(self) -> str:
        return f"{self.when} {self.function}"


MOMENTS = (
    Moment("posenc.training.module", "AnswerModule.learn", "before"),
    Moment("posenc.training.module", "AnswerModule.learn", "after"),
    Moment("torch.optim.lr_scheduler", "LambdaLR.step", "before"),
    Moment("posenc.training.callbacks", "LastCheckpoint.on_train_batch_end", "after"),
    Moment("posenc.training.storing", "write_checkpoint", "before"),
    Moment("pathlib", "Path.write_bytes", "within"),
    Moment("posenc.training.storing", "write_checkpoint", "after"),
    Moment("pathlib", "Path.write_text", "within"),
    Moment("posenc.results.disk", "_sync", "before"),
    Moment("pathlib", "Path.replace", "before"),
    Moment("pathlib", "Path.replace", "after"),
    Moment("posenc.results.records", "RunFolder.write_status", "before"),
    Moment("posenc.training.callbacks", "by_length", "before"),
    Moment("posenc.model.transformer", "Transformer.forward", "after"),
    Moment("posenc.metrics", "AnswerMetrics.update", "before"),
    Moment("posenc.scoring", "seen_in_training", "before"),
    Moment("posenc.results.records", "RunFolder.write_evaluation", "after"),
    Moment("posenc.results.records", "RunFolder.write_rows", "before"),
    Moment("posenc.results.records", "RunFolder.write_rows", "after"),
    Moment("posenc.run", "publish", "after"),
)
TOLD = [MOMENTS[number] for number in (2, 5, 9, 14, 18)]
"""One within a step, within a checkpoint, between writing and renaming, within an evaluation and
within the final record; the others take longer and tell little more."""


@pytest.fixture(scope="module")
def calls() -> dict[Moment, int]:
    """How often each function is called by a run that nobody stops."""
    return {}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, calls: dict[Moment, int]) -> RunFolder:
    outputs = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as patch:
        for moment in MOMENTS:
            moment.hook(partial(_counting, calls, moment), patch.setattr)
        assert run(*COMMAND, f"outputs={outputs}").code == 0
    return RunFolder(only_run(outputs))


def _counting(calls: dict[Moment, int], moment: Moment, usual: Any) -> Any:
    def counted(*arguments: Any, **settings: Any) -> Any:
        calls[moment] = calls.get(moment, 0) + 1
        return usual(*arguments, **settings)

    return counted


def _killing(number: int, when: str, usual: Any) -> Any:
    """The function that dies at its call of that number."""
    numbers = count(1)

    def deadly(*arguments: Any, **settings: Any) -> Any:
        due = next(numbers) == number
        if due and when == "within":
            path, content = arguments
            usual(path, content[: len(content) // 2], **settings)
        elif not due or when == "after":
            result = usual(*arguments, **settings)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return deadly


def _run_until(moment: Moment, number: int, command: tuple[str, ...]) -> None:
    moment.hook(partial(_killing, number, moment.when))
    run(*command)


def kill_at(moment: Moment, number: int, *command: str) -> None:
    """Runs the command in a process that dies at a call of that number."""
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["posenc.run", "command_line"])
    process = processes.Process(target=_run_until, args=(moment, number, command))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def contents(folder: RunFolder) -> dict[str, Any]:
    """All that must come out the same, as how often Lightning was called need not."""
    checkpoint = read_checkpoint(folder.checkpoint)
    del checkpoint["loops"]
    for tensors in (checkpoint["state_dict"], checkpoint["optimizer_states"][0]["state"]):
        for key, value in tensors.items():
            tensors[key] = {k: v.tolist() for k, v in value.items()} if isinstance(
                value, dict) else value.tolist()  # fmt: skip
    metrics = folder.path / "metrics.csv"
    figures = rows(metrics) if metrics.exists() else []
    return {
        "rows": (folder.path / "lengths.csv").read_bytes(),
        "figures": [each for each in figures if "per_second" not in each["metric"]],
        "checkpoint": checkpoint,
    }


def assert_readable(folder: RunFolder) -> None:
    """A killed run leaves nothing torn under the name of a whole file."""
    folder.status()
    folder.read_rows("lengths.csv")
    if folder.checkpoint.exists():
        read_checkpoint(folder.checkpoint)


def goes_on(outputs: Path, unbroken: RunFolder, *command: str) -> Ended:
    """The same command again, after which the run is the one that nobody stopped."""
    again = run(*command)
    assert again.code == 0, again.err
    folder = RunFolder(only_run(outputs))
    assert status(folder.path)["status"] == "finished"
    assert contents(folder) == contents(unbroken)
    assert not list(folder.path.rglob("*.unfinished"))
    assert not (folder.path / "progress.json").exists()
    return again


@pytest.mark.parametrize(
    "moment",
    [each if each in TOLD else pytest.param(each, marks=pytest.mark.slow) for each in MOMENTS],
    ids=str,
)
def test_killed_at_any_moment(
    moment: Moment, unbroken: RunFolder, calls: dict[Moment, int], tmp_path: Path
):
    number = random.Random(f"{SEED} {moment}").randint(1, calls[moment])
    command = (*COMMAND, f"outputs={tmp_path}")
    kill_at(moment, number, *command)
    folder = RunFolder(tmp_path / unbroken.path.relative_to(unbroken.path.parents[2]))
    assert_readable(folder)
    goes_on(tmp_path, unbroken, *command)


def test_killed_time_and_again(unbroken: RunFolder, calls: dict[Moment, int], tmp_path: Path):
    draw = random.Random(SEED)
    command = (*COMMAND, f"outputs={tmp_path}")
    kill_at(MOMENTS[1], draw.randint(30, 40), *command)
    kill_at(MOMENTS[5], draw.randint(1, 3), *command)
    kill_at(MOMENTS[18], 1, *command)
    assert "resumed at step 40" in goes_on(tmp_path, unbroken, *command).out


@pytest.mark.slow
def test_killed_after_any_time(tmp_path: Path):
    """Twenty processes of their own, each killed by the clock."""
    command = (*SETTINGS, "trainer.max_steps=500", "logger=none")
    began = time.perf_counter()
    assert run(*command, f"outputs={tmp_path / 'unbroken'}").code == 0
    took = time.perf_counter() - began
    unbroken, draw = RunFolder(only_run(tmp_path / "unbroken")), random.Random(SEED)
    steps = []
    for number in range(20):
        outputs = tmp_path / str(number)
        outputs.mkdir()
        with started(*command, f"outputs={outputs}", cwd=outputs) as process:
            wait_until(lambda outputs=outputs: list(outputs.rglob("run.json")), process)
            time.sleep(draw.uniform(0, took))
            process.send_signal(signal.SIGKILL)
        goes_on(outputs, unbroken, *command, f"outputs={outputs}")
        steps.append(status(only_run(outputs))["resumed_from"])
    assert len(set(steps)) > 5, steps
