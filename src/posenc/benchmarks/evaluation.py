"""Evaluation by length against its forward passes, and its memory."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import run, train
from posenc.building import build
from posenc.choosing import PROJECT
from posenc.errors import RunFailed
from posenc.evaluation import by_length
from posenc.schema import Config

SETS = ("encoding", "length.train", "length.test")
EVALUATE = str(PROJECT / "scripts" / "evaluate.py")
SHORT = ("trainer.max_steps=2", "eval.samples=16", "logger=none")
ENCODINGS = ("sinusoidal", "rope", "alibi", "t5")


def measure(plan: Plan) -> Iterator[Figure]:
    """Seconds of the whole over seconds of its forward passes, for the grid and for one length."""
    grid = range(5, plan.size(101, 16), 5)
    samples = plan.size(1024, 8)
    for name in ENCODINGS:
        config = plan.config(f"encoding={name}")
        found, _ = _against_forward(config, grid, samples, plan.rounds)
        setting = f"{name}, lengths {grid[0]} to {grid[-1]}, {samples} problems each"
        yield Figure(f"evaluation / forward passes, {setting}", "", found, at_most=1.1)
    length, samples = plan.size(2000, 60), plan.size(32, 2)
    for name in ENCODINGS:
        config = plan.config("length.train=40", f"length.test={length}", f"encoding={name}")
        found, anew = _against_forward(config, [length], samples, plan.rounds)
        setting = f"{name}, length {length}, {samples} problems"
        yield Figure(f"evaluation / forward passes, {setting}", "", found, at_most=1.3)
        yield Figure(f"forward passes with tables of their own / shared, {setting}", "", anew)
    yield from _memory(plan, length, samples)


def _memory(plan: Plan, length: int, samples: int) -> Iterator[Figure]:
    """Peaks of evaluate.py; every round asks other problems, since what is known is not asked."""
    few, many = [20, 100], list(range(5, 101))
    for name in (*ENCODINGS, "fire", "dape"):
        with TemporaryDirectory() as outputs:
            train(outputs, f"encoding={name}", "length.train=40", *SHORT, *plan.overrides)
            (run_file,) = Path(outputs).rglob("run.json")
            peaks = partial(_peaks, run_file.parent, plan.rounds)
            if name == ENCODINGS[0]:
                more, less = peaks(many, 8 * samples), peaks(few, 8 * samples)
                setting = f"peak of {len(many)} lengths above that of {len(few)}, up to {many[-1]}"
                growth = [one - other for one, other in zip(more, less, strict=True)]
                yield Figure(setting, "MB", growth)
                yield Figure("the same, as a ratio of whole processes", "", ratios(more, less))
            setting = f"peak of evaluate.py, {name}, trained to 40, length {length}"
            yield Figure(setting, "MB", peaks([length], samples), at_most=2048)


def _peaks(folder: Path, rounds: int, lengths: Sequence[int], samples: int) -> list[float]:
    asked = f"eval.lengths=[{','.join(map(str, lengths))}]"
    longest = f"length.test={lengths[-1]}"
    own = (EVALUATE, f"run={folder}", asked, longest, f"eval.samples={samples}")
    before = len(list(folder.glob("lengths*.csv")))
    found = [run(*own, f"eval.seed={number}").megabytes for number in range(1, rounds + 1)]
    if len(list(folder.glob("lengths*.csv"))) != before + rounds:
        raise RunFailed(f"{folder}: not every round was evaluated")
    return found


def _against_forward(
    config: Config, lengths: Sequence[int], samples: int, rounds: int
) -> tuple[list[float], list[float]]:
    """Whole over forward passes, and forward passes without shared tables over those with them."""
    experiment = build(config)
    net, asked = experiment.net.eval(), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    noted = net.register_forward_pre_hook(
        lambda net, arguments, settings: asked.append((arguments, settings)), with_kwargs=True
    )

    def whole() -> None:
        by_length(net, experiment.tested, experiment.positions, lengths, samples=samples, seed=0)

    def forward() -> None:
        made: dict[int, Any] = {}
        with torch.inference_mode():
            for (tokens, ids, answers), settings in asked:
                if settings["contexts"] is not None and id(settings["contexts"]) not in made:
                    made = {id(settings["contexts"]): net.contexts(ids, answers)}
                net(tokens, ids, answers, contexts=made.get(id(settings["contexts"])))

    def anew() -> None:
        with torch.inference_mode():
            for arguments, _ in asked:
                net(*arguments)

    whole()
    noted.remove()
    works = {"whole": whole, "forward": forward, "anew": anew}
    seconds = in_turn(works, rounds)
    return ratios(seconds["whole"], seconds["forward"]), ratios(seconds["anew"], seconds["forward"])
