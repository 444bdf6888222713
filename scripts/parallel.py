"""What running side by side costs: several jobs, and one beside a busy process.

    python scripts/parallel.py [--jobs 6] [--steps 100] [--rounds 3] [--out DIR] [key=value ...]

First a sweep of so many jobs, in series and with `launcher=joblib`, as whole commands. Then steps
of one run, alone and beside processes that keep a core busy each: with one thread, with one for
every core, and with these once more as PyTorch would have it, without a bound on how long threads
spin. What is compared runs in turn, and each round gives one ratio. Writes parallel.csv into DIR.
The keys are those of train.py.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.errors import RunFailed
from posenc.launching import cores

TRAIN = Path(__file__).resolve().parents[1] / "train.py"
QUIET = ("trainer.enable_progress_bar=false", "logger=none")
LONGER = 5
"""Times as many steps for the runs of a sweep, whose commands are timed with their start."""
PARALLEL = "launcher=joblib"
UNBOUND = {"GOMP_SPINCOUNT": "30000000000"}
"""As good as never to sleep, which is what OpenMP does as long as threads fit the cores."""


class Compared(NamedTuple):
    """A figure of each round before and after something changed."""

    name: str
    before: Sequence[float]
    after: Sequence[float]
    fair: float
    """What would be fair for after / before."""

    @property
    def ratios(self) -> list[float]:
        """Of each round."""
        return [after / before for before, after in zip(self.before, self.after, strict=True)]


def main() -> None:
    """Reads arguments, measures, prints, writes."""
    parser = argparse.ArgumentParser(description="What running side by side costs.")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    given = parser.parse_args()
    settings = [*QUIET, *given.overrides]
    print(f"{cores(1)} cores, {given.rounds} rounds", flush=True)
    long = f"trainer.max_steps={LONGER * given.steps}"
    found = [_sweeps([*settings, long], given.jobs, given.rounds)]
    _print(found[0])
    for beside in _beside([*settings, f"trainer.max_steps={given.steps}"], given.rounds):
        _print(beside)
        found.append(beside)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        with (given.out / "parallel.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["compared", "round", "before", "after", "ratio", "fair"])
            for each in found:
                figures = zip(each.before, each.after, each.ratios, strict=True)
                for number, figure in enumerate(figures):
                    shown = [f"{value:.4g}" for value in (*figure, each.fair)]
                    writer.writerow([each.name, number, *shown])


def _sweeps(settings: Sequence[str], jobs: int, rounds: int) -> Compared:
    """Seconds of whole commands."""
    sweep = ["-m", *settings, f"seed=range({jobs})"]
    before, after = _in_turn(rounds, lambda: _run(sweep)[0], lambda: _run([*sweep, PARALLEL])[0])
    return Compared(f"{jobs} jobs in series, {PARALLEL}: s", before, after, 1 / min(jobs, cores(1)))


def _beside(settings: Sequence[str], rounds: int) -> Iterator[Compared]:
    """Milliseconds of a training step, alone and beside busy processes."""
    every = cores(1)
    for threads, environment in ((1, {}), (every, {}), (every, UNBOUND)):
        step = partial(_step, [*settings, f"threads={threads}"], environment)
        for busy in range(1, every + 1):
            before, after = _in_turn(rounds, partial(step, busy=0), partial(step, busy=busy))
            name = f"{threads} threads{', unbound' * bool(environment)}, alone, {busy} busy beside"
            yield Compared(f"{name}: ms a step", before, after, max(1, (threads + busy) / every))


def _step(command: Sequence[str], environment: Mapping[str, str], *, busy: int) -> float:
    with ExitStack() as stack:
        for _ in range(busy):
            beside = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(beside.wait)
            stack.callback(beside.kill)
        return _run(command, environment)[1]


def _in_turn(
    rounds: int, before: Callable[[], float], after: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Figures of both in every round, each of them first as often as the other."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            found[which].append((before, after)[which]())
    return found


def _run(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """Runs train.py afresh: seconds of the whole command, and milliseconds of a step."""
    with tempfile.TemporaryDirectory() as outputs:
        started = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, str(TRAIN), *command, f"outputs={outputs}"],
            env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        if ended.returncode:
            raise RunFailed(ended.stderr.strip().splitlines()[-1])
        runs = [json.loads(path.read_text()) for path in Path(outputs).rglob("run.json")]
        steps = [1000 * run["train_seconds"] / run["trained_steps"] for run in runs]
        return seconds, statistics.mean(steps)


def _print(found: Compared) -> None:
    low, middle, high = min(found.ratios), statistics.median(found.ratios), max(found.ratios)
    before, after = statistics.median(found.before), statistics.median(found.after)
    print(
        f"{found.name:<54} {before:8.2f} {after:8.2f}   ratio {middle:.2f}"
        f" ({low:.2f} to {high:.2f}), fair {found.fair:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
