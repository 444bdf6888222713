"""What a run answers at each length: computed once, kept in its folder, read back after that."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from posenc.building import batches
from posenc.checkpoint import load_weights
from posenc.evaluation import LengthScore, bits_by_place, by_length
from posenc.experiment import Experiment
from posenc.results.details import write_details
from posenc.results.identity import fingerprint, identity
from posenc.results.progress import Progress
from posenc.results.records import RunFolder
from posenc.schema import Config
from posenc.tasks.base import Task
from posenc.training.overlap import seen_in_training

Row = dict[str, Any]

STRETCHES = 64
"""Stretches of places that are told apart; in longer answers each holds several places."""


def evaluate(
    config: Config, experiment: Experiment, folder: RunFolder
) -> tuple[list[Row], dict[int, float]]:
    """The rows of a finished run, computed and kept where this evaluation was never asked for.

    With them comes the share of the test prompts, by length, that training had met.
    """
    settings = asdict(config)
    name = folder.rows_name(settings)
    rows = folder.read_rows(name)
    if not rows:
        tried_out = fingerprint(settings) != folder.fingerprint
        load_weights(experiment.net, folder.checkpoint, longer=tried_out)
        rows = score(config, experiment, folder, name)
    return rows, folder.seen_in_training(name)


def score(config: Config, experiment: Experiment, folder: RunFolder, name: str) -> list[Row]:
    """Evaluates at every length and writes the rows into the file of that name."""
    experiment.net.to("cuda" if config.trainer.accelerator == "gpu" else "cpu")
    asked = {"samples": config.eval.samples, "seed": config.eval.seed}
    lengths, seconds = experiment.evaluated, config.eval.second or []
    progress = Progress(folder.path, "evaluating", of=len(lengths) * (1 + len(seconds)))
    scores = by_length(
        experiment.net,
        experiment.tested,
        experiment.positions,
        progress.each(lengths),
        **asked,
    )
    run = {**identity(asdict(config)), "fingerprint": folder.fingerprint}
    rows = [_row(config, experiment, experiment.tested, found) | run for found in scores]
    details = {
        "places": _places(config, experiment, scores),
        "grid": _grid(config, experiment, asked, progress),
        "bits": _bits(config, experiment, asked),
    }
    for kind, table in details.items():
        if table:
            write_details(folder, kind, name, [row | run for row in table])
    count = config.trainer.max_steps * config.trainer.accumulate_grad_batches
    seen = seen_in_training(batches(config, experiment), count, lengths=lengths, **asked)
    folder.write_evaluation(name, asdict(config), seen)
    folder.write_rows(name, rows)
    return rows


def _places(config: Config, experiment: Experiment, scores: Sequence[LengthScore]) -> list[Row]:
    """Every stretch of places of the answers at every length, where answers have several tokens."""
    if all(sum(found.tokens) == found.n * experiment.positions.draws for found in scores):
        return []
    stretch = math.ceil(max(len(found.tokens) for found in scores) / STRETCHES)
    common = {"train_max": config.length.train, "eval_seed": config.eval.seed}
    rows = []
    for found in scores:
        for first in range(0, len(found.tokens), stretch):
            here = slice(first, first + stretch)
            if tokens := sum(found.tokens[here]):
                last = min(first + stretch, len(found.tokens)) - 1
                accuracy = sum(found.correct[here]) / tokens
                where = {"length": found.length, "place": first, "last": last}
                rows.append({**common, **where, "tokens": tokens, "token_accuracy": accuracy})
    return rows


def _grid(
    config: Config, experiment: Experiment, asked: dict[str, int], progress: Progress
) -> list[Row]:
    """Every length with every second size that `eval.second` names."""
    rows = []
    for second in config.eval.second or []:
        task = experiment.tested.sized(second)
        lengths = progress.each(experiment.evaluated)
        scores = by_length(experiment.net, task, experiment.positions, lengths, **asked)
        rows += [{**_row(config, experiment, task, found), "second": second} for found in scores]
    return rows


def _bits(config: Config, experiment: Experiment, asked: dict[str, int]) -> list[Row]:
    """Every place of the longest problems, where the task is a law and not a question."""
    task, length = experiment.tested, experiment.evaluated[-1]
    if task.floor(0) is None:
        return []
    found = bits_by_place(experiment.net, task, experiment.positions, length, **asked)
    common = {
        "train_max": config.length.train,
        "length": length,
        "n": config.eval.samples,
        "eval_seed": config.eval.seed,
    }
    return [
        {**common, "place": place, "bits": bits, "best": task.floor(place)}
        for place, bits in found.items()
    ]


def _row(config: Config, experiment: Experiment, task: Task, found: LengthScore) -> Row:
    chance = task.chance(found.length)
    return {
        "train_max": config.length.train,
        "in_range": found.length in experiment.trained,
        "length": found.length,
        "n": found.n,
        "exact": found.exact,
        "token_accuracy": found.token_accuracy,
        "loss": found.loss,
        "chance": chance.exact,
        "token_chance": chance.token,
        "positions_at_eval": _at_eval(config),
        "draws": experiment.positions.draws,
        "eval_seed": config.eval.seed,
    }


def _at_eval(config: Config) -> str:
    """The policies of evaluation, one for each part of an encoding whose parts have sources."""
    owns = [part["positions"] for part in config.encoding.get("parts", [])]
    sources = [own or config.positions for own in owns] if any(owns) else [config.positions]
    return "+".join(source.get("at_eval", source["name"]) for source in sources)
