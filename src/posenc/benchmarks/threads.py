"""Training steps beside busy processes, against those steps alone.

Each process keeps a core busy. With one thread, with one for every core, and with these once more
as PyTorch would have it: without a bound on how long threads spin while they wait for each other.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import train
from posenc.launching import cores

SETS = ("threads", "trainer.max_steps", "eval.samples", "logger", "trainer.enable_progress_bar")
UNBOUND = {"GOMP_SPINCOUNT": "30000000000"}
"""As good as never to sleep, which is what OpenMP does as long as threads fit the cores."""
FAIR = 3
"""Times what would be fair, a core for each thread and each busy process in turn, may a step take
beside others."""


def measure(plan: Plan) -> Iterator[Figure]:
    """Milliseconds of a step, as run.json tells them, beside 0, 1, and a process for each core."""
    every = cores(1)
    cases: list[tuple[int, Mapping[str, str]]] = [(1, {}), (every, {}), (every, UNBOUND)]
    for threads, environment in cases[: plan.size(3, 1)]:
        name = f"{threads} thread{'s' * (threads > 1)}{', unbound' * bool(environment)}"
        found = _steps(plan, threads, environment, busy=sorted({0, 1, every})[: plan.size(3, 2)])
        alone = found.pop(0)
        yield Figure(f"{name}, alone", "ms a step", alone)
        for busy, beside in found.items():
            fair = max(1, (threads + busy) / every)
            yield Figure(
                f"{name}, {busy} busy beside / alone", "", ratios(beside, alone),
                at_most=None if environment else FAIR * fair,
            )  # fmt: skip


def _steps(
    plan: Plan, threads: int, environment: Mapping[str, str], *, busy: Sequence[int]
) -> dict[int, list[float]]:
    """Busy processes -> milliseconds of a step in each round."""
    found: dict[int, list[float]] = {each: [] for each in busy}
    settings = (
        f"threads={threads}", f"trainer.max_steps={plan.size(100, 2)}", "eval.samples=16",
        "logger=none", "trainer.enable_progress_bar=false", *plan.overrides,
    )  # fmt: skip

    def step(busy: int) -> None:
        found[busy].append(_step(settings, environment, busy))

    in_turn({str(each): partial(step, each) for each in busy}, plan.rounds, warm=False)
    return found


def _step(settings: Sequence[str], environment: Mapping[str, str], busy: int) -> float:
    with ExitStack() as stack:
        outputs = stack.enter_context(TemporaryDirectory())
        for _ in range(busy):
            beside = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(beside.wait)
            stack.callback(beside.kill)
        train(outputs, *settings, environment=environment)
        (told,) = Path(outputs).rglob("run.json")
        run = json.loads(told.read_text())
        return float(1000 * run["train_seconds"] / run["trained_steps"])
