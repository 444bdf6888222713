"""Steps per second of `train.py`, everything on, against a bare loop with the same net and data.

    python scripts/benchmark.py [--steps 500] [--rounds 5] [key=value ...]
    python scripts/benchmark.py --encodings [--steps 20] [--rounds 15] [--out DIR] [key=value ...]
    python scripts/benchmark.py --tasks [--steps 20] [--rounds 5] [--out DIR] [key=value ...]

The second compares bare loops instead, every encoding's with that of `none`, on texts of 64 tokens,
and writes steps.csv into DIR; those defined for decoders alone are compared with a decoder. The
third measures what drawing a batch of each task takes of a bare loop's step, at the longest trained
length, and writes batches.csv.

What is compared runs in turn in one process, and each round gives one ratio. A round of all
encodings takes a while, in which a busy machine changes pace: trust the median, not a round. The
keys are those of train.py.
"""

import argparse
import csv
import io
import json
import logging
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir

from posenc.building import batches, build, optimizer_maker
from posenc.catalogue import classes
from posenc.choosing import CONFIGS
from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.errors import ConfigError
from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.portrait import model_for
from posenc.results.records import RunFolder
from posenc.run import train
from posenc.schema import Config, load
from posenc.seeding import generator

SENTENCES = "length={min:63,train:63,test:63}"
"""In words; with the place of the answer they make 64 tokens."""


def bare(config: Config) -> float:
    """Steps per second of the loop that anyone would write by hand."""
    experiment = build(config)
    net, positions = experiment.net, experiment.positions
    data = batches(config, experiment)
    optimizer, schedule = optimizer_maker(config)(net)
    started = time.perf_counter()
    for step in range(config.trainer.max_steps):
        batch = data[step]
        tokens = arrange(batch, ask=net.ask, causal=net.shape.causal)
        stream = generator(config.seed, "positions", step)
        ids = positions.train(slots(batch, causal=net.shape.causal), stream)
        optimizer.zero_grad()
        logits = net(tokens, ids, batch.answer.shape[1])
        answer_loss(logits, batch.answer, batch.scored).backward()
        if config.trainer.gradient_clip_val:
            torch.nn.utils.clip_grad_norm_(net.parameters(), config.trainer.gradient_clip_val)
        optimizer.step()
        schedule.step()
    return config.trainer.max_steps / (time.perf_counter() - started)


def whole(config: Config) -> float:
    """Steps per second of `train.py`: bar, TensorBoard, metrics, checkpoints, probes."""
    train(config)
    folder = RunFolder.of(asdict(config))
    seconds = json.loads((folder.path / "run.json").read_text())["train_seconds"]
    return config.trainer.max_steps / float(seconds)


def against_train(config: Config, rounds: int) -> None:
    """Prints both speeds of every round, and the median and spread of their ratio."""
    ratios = []
    with tempfile.TemporaryDirectory() as outputs:
        for number in range(rounds + 1):
            now = replace(config, outputs=outputs, seed=number)
            with redirect_stdout(io.StringIO()):
                order = (bare, whole) if number % 2 else (whole, bare)
                speeds = {run: run(now) for run in order}
            if number == 0:
                continue  # the first of each pays for what is loaded only once
            ratios.append(speeds[whole] / speeds[bare])
            print(
                f"round {number}: bare loop {speeds[bare]:.1f} steps/s, "
                f"train.py {speeds[whole]:.1f}, ratio {ratios[-1]:.3f}"
            )
    print(
        f"train.py / bare loop: median {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f}), {config.threads} thread(s)"
    )


def against_none(configs: Sequence[Config], rounds: int) -> list[list[str]]:
    """Prints how long a step takes with each encoding, relative to `none`; -> a row for each."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        reference: dict[str, float] = {}
        for config in configs:
            speed, model, name = bare(config), config.model.name, config.encoding["name"]
            reference.setdefault(model, speed)  # `none` comes first
            if number:  # the first pays for what is loaded only once
                ratios.setdefault((name, model), []).append(reference[model] / speed)
    rows = []
    for (name, model), found in ratios.items():
        middle, least, most = statistics.median(found), min(found), max(found)
        print(f"{name:<20}{model:<10}{middle:.2f}  ({least:.2f} to {most:.2f})")
        shown = (f"{value:.3f}" for value in (middle, least, most))
        rows.append([name, model, str(rounds), *shown])
    return rows


def batches_of(configs: Sequence[Config], rounds: int) -> list[list[str]]:
    """Prints how long drawing a batch of each task takes, and its share of a step; -> rows."""
    rows = []
    for config in configs:
        data = batches(config, build(config))
        costs, shares = [], []
        for number in range(rounds + 1):
            started = time.perf_counter()
            for step in range(config.trainer.max_steps):
                data[step]
            cost = (time.perf_counter() - started) / config.trainer.max_steps
            speed = bare(config)
            if number:
                costs.append(1e6 * cost)
                shares.append(cost * speed)
        name, length = str(config.task["name"]), data.lengths[-1]
        cost, share = statistics.median(costs), statistics.median(shares)
        spread = f"({min(shares):.1%} to {max(shares):.1%})"
        print(f"{name:<28}length {length:<4}{cost:6.0f} µs a batch, {share:.1%} of a step {spread}")
        shown = [f"{cost:.0f}", *(f"{each:.4f}" for each in (share, min(shares), max(shares)))]
        rows.append([name, str(length), str(rounds), *shown])
    return rows


def every_encoding() -> list[tuple[str, str]]:
    """The settings of each, `none` first, in both models."""
    names = [name for name in classes() if name != "none"]
    pairs = [("encoder", "none"), ("decoder", "none"), *((model_for(name), name) for name in names)]
    return [(f"model={model}", f"encoding={name}") for model, name in pairs]


def every_task() -> list[tuple[str, str]]:
    """The settings of each."""
    return [(f"model={model_for(name, 'task')}", f"task={name}") for name in classes("task")]


ENCODING_TABLE = (
    "steps.csv",
    ("encoding", "model", "rounds", "ratio", "least", "most"),
    against_none,
)
TASK_TABLE = (
    "batches.csv",
    ("task", "length", "rounds", "microseconds", "share", "least", "most"),
    batches_of,
)


def prepare(folder: Path) -> None:
    """Raises ConfigError where nothing can be written, which nobody wants to hear afterwards."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}; name a folder to write in") from None


def main() -> None:
    """Reads arguments and measures."""
    parser = argparse.ArgumentParser(description="train.py, or every encoding, against a bare loop")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--encodings", action="store_true", help="compare these, not train.py")
    kind.add_argument("--tasks", action="store_true", help="what their batches take of a step")
    parser.add_argument("--steps", type=int, help="of each run; default 500, or 20 of each choice")
    parser.add_argument("--rounds", type=int, help="default 5, or 15 of encodings")
    parser.add_argument("--out", type=Path, metavar="DIR", help="for a table, else only printed")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as for train.py")
    given = parser.parse_args()
    steps, rounds = (20 if given.encodings or given.tasks else 500), (15 if given.encodings else 5)
    steps = steps if given.steps is None else given.steps
    rounds = rounds if given.rounds is None else given.rounds
    if rounds < 1:
        raise ConfigError(f"--rounds {rounds}: must be at least 1")
    taken = [each for each in given.overrides if each.startswith(("encoding=", "model="))]
    if given.encodings and taken:
        raise ConfigError(f"{taken[0]}: --encodings goes through all; leave it out")
    if given.out is not None and not (given.encodings or given.tasks):
        raise ConfigError(f"--out {given.out}: goes with --encodings or --tasks")
    fixed = [f"trainer.max_steps={steps}", "eval.samples=16"]
    logging.disable()
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):

        def configured(*own: str) -> Config:
            return load(compose("train", [*fixed, *own, *given.overrides]))

        torch.set_num_threads(configured().threads)
        if given.encodings:
            configs = [configured(SENTENCES, *own) for own in every_encoding()]
        elif given.tasks:
            configs = [configured(*own, "data.curriculum=fixed") for own in every_task()]
        else:
            against_train(configured(), rounds)
            return
    if given.out is not None:
        prepare(given.out)
    name, header, measure = ENCODING_TABLE if given.encodings else TASK_TABLE
    rows = measure(configs, rounds)
    if given.out is not None:
        with (given.out / name).open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(header)
            table.writerows(rows)
        print(f"wrote {given.out / name}")


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, ValueError, AssertionError, OSError), forgiving_output():
        main()
