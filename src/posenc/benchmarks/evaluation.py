"""Evaluation by length against the forward passes that it cannot do without, and its memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import run, train
from posenc.building import build
from posenc.choosing import PROJECT
from posenc.evaluation import by_length
from posenc.schema import Config

EVALUATE = str(PROJECT / "scripts" / "evaluate.py")
SHORT = ("trainer.max_steps=2", "eval.samples=16", "logger=none")
ENCODINGS = ("sinusoidal", "rope", "alibi", "t5")


def measure(plan: Plan) -> Iterator[Figure]:
    """Seconds of the whole over seconds of its forward passes, for the grid and for one length."""
    grid = range(5, plan.size(101, 16), 5)
    samples = plan.size(1024, 8)
    for name in ENCODINGS:
        config = plan.config(f"encoding={name}")
        found = _against_forward(config, grid, samples, plan.rounds)
        setting = f"{name}, lengths {grid[0]} to {grid[-1]}, {samples} problems each"
        yield Figure(f"evaluation / forward passes, {setting}", "", found, at_most=1.1)
    length, samples = plan.size(2000, 60), plan.size(32, 2)
    for name in ENCODINGS:
        config = plan.config("length.train=40", f"length.test={length}", f"encoding={name}")
        found = _against_forward(config, [length], samples, plan.rounds)
        setting = f"{name}, length {length}, {samples} problems"
        yield Figure(f"evaluation / forward passes, {setting}", "", found, at_most=1.3)
    yield from _memory(plan, length, samples)


def _memory(plan: Plan, length: int, samples: int) -> Iterator[Figure]:
    """Peaks of evaluate.py, on a run whose bias and logits are as large as those of any."""
    few, many = [20, 100], list(range(5, 101))
    with TemporaryDirectory() as outputs:
        train(outputs, "encoding=alibi", "length.train=40", *SHORT, *plan.overrides)
        (run_file,) = Path(outputs).rglob("run.json")

        def peaks(lengths: Sequence[int], samples: int) -> list[float]:
            asked = f"eval.lengths=[{','.join(map(str, lengths))}]"
            longest = f"length.test={lengths[-1]}"
            own = (f"run={run_file.parent}", asked, longest, f"eval.samples={samples}")
            return [run(EVALUATE, *own).megabytes for _ in range(plan.rounds)]

        flat = ratios(peaks(many, 8 * samples), peaks(few, 8 * samples))
        setting = f"peak memory, {len(many)} lengths / {len(few)} lengths up to {many[-1]}"
        yield Figure(setting, "", flat, at_most=1.1)
        at_length = peaks([length], samples)
        setting = f"peak memory of evaluate.py, alibi, length {length}, trained to 40"
        yield Figure(setting, "MB", at_length, at_most=2048)


def _against_forward(
    config: Config, lengths: Sequence[int], samples: int, rounds: int
) -> list[float]:
    experiment = build(config)
    net, asked = experiment.net.eval(), list[tuple[Any, ...]]()
    noted = net.register_forward_pre_hook(lambda net, arguments: asked.append(arguments))

    def whole() -> None:
        by_length(net, experiment.tested, experiment.positions, lengths, samples=samples, seed=0)

    def forward() -> None:
        with torch.inference_mode():
            for arguments in asked:
                net(*arguments)

    whole()
    noted.remove()
    seconds = in_turn({"whole": whole, "forward": forward}, rounds)
    return ratios(seconds["whole"], seconds["forward"])
