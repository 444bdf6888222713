"""scripts/report.py over a thousand runs."""

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from posenc.benchmarks.figures import Figure, in_turn
from posenc.benchmarks.plan import Plan
from posenc.benchmarks.processes import run
from posenc.catalogue import classes
from posenc.choosing import PROJECT, defaults_of
from posenc.errors import RunFailed
from posenc.results.identity import flat, identity, shaping
from posenc.results.records import COLUMNS, RunFolder, csv_text
from posenc.run import train
from posenc.seeding import generator

SCRIPT = str(PROJECT / "scripts" / "report.py")
SEEDS = 5
TINY = (
    "model.width=16", "model.heads=2", "data.batch_size=8", "trainer.max_steps=2",
    "eval.samples=64", "trainer.enable_progress_bar=false", "logger=none",
)  # fmt: skip

SETS = tuple(each.partition("=")[0] for each in TINY)


def measure(plan: Plan) -> Iterator[Figure]:
    """The whole command. Raises RunFailed where it did not count every run."""
    tasks, encodings = classes("task")[: plan.size(10, 1)], classes()[: plan.size(20, 4)]
    with TemporaryDirectory() as place:
        outputs = Path(place) / "outputs"
        number = write_runs(plan, outputs, tasks, encodings)
        formats = {"html,md,csv": ("--format", "html,md,csv"), "all formats": ()}
        works = {
            f"report.py over {number:,} runs, {name}": partial(report, outputs, number, given)
            for name, given in formats.items()
        }
        for name, seconds in in_turn(works, plan.rounds, warm=False).items():
            yield Figure(name, "s", seconds, at_most=10)


def write_runs(plan: Plan, outputs: Path, tasks: list[str], encodings: list[str]) -> int:
    """Trains one tiny run and writes others in its image, with rows of their own; -> how many."""
    stream = generator(0, "curves")
    with TemporaryDirectory() as place:
        config = replace(plan.config(*TINY), outputs=place)
        folder = train(config, quiet=True).folder
        status, rows = folder.status(), folder.read_rows("lengths.csv")
        names = [path.relative_to(folder.path) for path in folder.path.rglob("*") if path.is_file()]
    chosen_tasks = [defaults_of("task", name) for name in tasks]
    chosen_encodings = [defaults_of("encoding", name) for name in encodings]
    runs = list(product(chosen_tasks, chosen_encodings, range(SEEDS)))
    for task, encoding, seed in runs:
        own_settings = {"task": task, "encoding": encoding, "seed": seed, "outputs": str(outputs)}
        settings = asdict(config) | own_settings
        own = RunFolder.of(settings).path
        for name in names:
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).touch()
        told = {**status, "settings": flat(shaping(settings))}
        (own / "run.json").write_text(json.dumps(told, indent=2))
        run_columns = identity(settings)
        made = [row | run_columns for row in _curve(rows, stream)]
        (own / "lengths.csv").write_text(csv_text(COLUMNS, made))
    return len(runs)


def _curve(rows: list[dict[str, Any]], stream: torch.Generator) -> Iterator[dict[str, Any]]:
    """The rows with other answers: nearly all right where trained, and fewer with every length."""
    kept = 0.6 + 0.4 * torch.rand((), generator=stream).item()
    share = 1.0
    for row in rows:
        share *= 1 if row["in_range"] else kept
        exact = (torch.rand(row["n"], generator=stream) < share).double().mean().item()
        yield row | {"exact": exact, "token_accuracy": (1 + exact) / 2, "loss": 2 - 2 * exact}


def report(outputs: Path, number: int, given: tuple[str, ...]) -> None:
    """The whole command, with these arguments; raises RunFailed unless it counts so many runs."""
    with TemporaryDirectory() as out:
        ended = run(SCRIPT, str(outputs), "--out", out, *given)
        with (Path(out) / "results.csv").open(newline="") as file:
            runs = {(row["task"], row["encoding"], row["seed"]) for row in csv.DictReader(file)}
    if left_out := [line for line in ended.errors.splitlines() if line.startswith("left out")]:
        raise RunFailed(left_out[0])
    if len(runs) != number:
        raise RunFailed(f"report.py counted {len(runs)} of {number} runs")
