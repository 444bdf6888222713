"""Steps per second of `train.py`, everything on, against a bare loop with the same net and data.

    python scripts/benchmark.py [--steps 500] [--rounds 5] [key=value ...]

Both run in turn in one process, and each round gives one ratio, so a machine that slows down for a
while slows both. The keys are those of train.py.
"""

import argparse
import io
import json
import logging
import statistics
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import asdict, replace

import torch
from hydra import compose, initialize_config_dir

from posenc.building import batches, build, optimizer_maker
from posenc.cli import MENDABLE, one_line_errors
from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.results.records import RunFolder
from posenc.run import train
from posenc.schema import CONFIGS, Config, load
from posenc.seeding import generator


def bare(config: Config) -> float:
    """Steps per second of the loop that anyone would write by hand."""
    experiment = build(config)
    net, positions = experiment.net, experiment.positions
    data = batches(config, experiment)
    optimizer, schedule = optimizer_maker(config)(net)
    started = time.perf_counter()
    for step in range(config.trainer.max_steps):
        batch = data[step]
        tokens = arrange(batch.prompt, batch.answer, ask=net.ask, causal=net.shape.causal)
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


def main() -> None:
    """Prints both speeds of every round, and the median and spread of their ratio."""
    parser = argparse.ArgumentParser(description="train.py against a bare loop.")
    parser.add_argument("--steps", type=int, default=500, help="of each run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as for train.py")
    given = parser.parse_args()
    fixed = [f"trainer.max_steps={given.steps}", "eval.samples=16"]
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = load(compose("train", [*fixed, *given.overrides]))
    torch.set_num_threads(config.threads)
    logging.disable()
    ratios = []
    with tempfile.TemporaryDirectory() as outputs:
        for number in range(given.rounds + 1):
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


if __name__ == "__main__":
    with one_line_errors(*MENDABLE):
        main()
