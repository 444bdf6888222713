"""One run: build, fit, evaluate, record."""

import logging
import math
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from rich.console import Console

from posenc.building import batches, build, optimizer_maker
from posenc.checkpoint import load_weights, read_checkpoint
from posenc.evaluation import LengthScore, by_length
from posenc.experiment import Experiment
from posenc.recording import circumstances, kept_log, kept_status
from posenc.results import statistics
from posenc.results.records import RunFolder, evaluation_hash, identity
from posenc.results.terminal import print_run
from posenc.schema import Config
from posenc.training.callbacks import Interruption, LastCheckpoint, Probes
from posenc.training.dashboard import EventLog, publish
from posenc.training.data import TrainingData
from posenc.training.module import AnswerModule
from posenc.training.monitor import Monitor
from posenc.training.overlap import seen_in_training

logger = logging.getLogger(__name__)
Row = dict[str, Any]


def train(config: Config) -> float:
    """Does what is still to be done of a run, prints its result, and returns its score.

    The score is exact match averaged over the lengths beyond the trained ones, and nan where none
    is tested. Raises ConfigError before anything is written, RunFailed for whatever breaks later.
    """
    warnings.filterwarnings("ignore", ".*does not have many workers.*")  # none is the fastest here
    warnings.filterwarnings("ignore", ".*LeafSpec.*")  # torch 2.13 of pytorch_lightning 2.6
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    torch.set_num_threads(config.threads)
    experiment = build(config)
    folder = RunFolder.of(asdict(config))
    interruption = Interruption()
    with folder.locked(), interruption.handling_signals():
        if config.overwrite:
            folder.clear()
        with kept_log(folder.path / "train.log"), kept_status(folder):
            if folder.status().get("status") == "finished":
                _say_how_it_was_made(config, folder)
            else:
                _train(config, experiment, folder, interruption)
            rows, seen = evaluate(config, experiment, folder)
            with (folder.path / "train.log").open("a") as log:
                for console in (Console(highlight=False), Console(file=log, width=100)):
                    print_run(
                        rows,
                        folder=folder.path,
                        outputs=Path(config.outputs),
                        seen=seen,
                        console=console,
                    )
    exact = [row["exact"] for row in rows]
    score = statistics.score([row["length"] for row in rows], exact, config.length.train)
    return math.nan if score is None else score


def _train(
    config: Config, experiment: Experiment, folder: RunFolder, interruption: Interruption
) -> None:
    """Fits, or goes on fitting, then evaluates and records."""
    settings = asdict(config)
    state = read_checkpoint(folder.checkpoint) if folder.checkpoint.exists() else None
    step = 0 if state is None else state["global_step"]
    folder.write("config.yaml", OmegaConf.to_yaml(OmegaConf.create(settings)))
    folder.write_status(
        status="running", resumed_from=step, traceback=None, **circumstances(config.threads)
    )
    folder.checkpoint.parent.mkdir(exist_ok=True)
    taken_up = "started" if state is None else f"resumed at step {step}"
    logger.info("%s in %s", taken_up, folder.path)
    log = None
    if config.logger.name == "tensorboard":
        log = EventLog(str(folder.path), purge_step=step + 1)
    if state is not None and step >= config.trainer.max_steps:
        load_weights(experiment.net, state)
    else:
        monitor = _fit(config, experiment, folder, interruption, log, resume=state is not None)
        folder.write_status(
            train_seconds=round(monitor.seconds, 2),
            trained_steps=config.trainer.max_steps - step,
            tokens_per_second=round(monitor.tokens / monitor.seconds),
        )
    rows = _evaluate(config, experiment, folder, "lengths.csv")
    if log is not None:
        try:
            _publish(config, experiment, log, rows)
        except Exception:
            logger.exception("TensorBoard lacks the pictures of this run; its rows are complete")
    folder.write_status(
        status="finished",
        evaluation=evaluation_hash(settings),
        parameters=sum(parameter.numel() for parameter in experiment.net.parameters()),
    )


def _fit(
    config: Config,
    experiment: Experiment,
    folder: RunFolder,
    interruption: Interruption,
    log: EventLog | None,
    *,
    resume: bool,
) -> Monitor:
    options = asdict(config.trainer)
    options.pop("enable_progress_bar")
    clip, accumulate = options.pop("gradient_clip_val"), options.pop("accumulate_grad_batches")
    monitor = Monitor(progress_bar=config.trainer.enable_progress_bar)
    probes = Probes(
        experiment.task,
        experiment.probed,
        every=config.eval.probe_every,
        samples=config.eval.probe_samples,
        seed=config.eval.seed,
    )
    trainer = pl.Trainer(
        **options,
        devices=1,
        logger=log or False,
        callbacks=[
            monitor,
            probes,
            LastCheckpoint(folder.checkpoint, config.checkpoint.every),
            interruption,
        ],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(
        AnswerModule(
            experiment.net,
            experiment.positions,
            optimizer_maker(config),
            seed=config.seed,
            accumulate=accumulate,
            clip=clip,
        ),
        TrainingData(batches(config, experiment), workers=config.data.workers),
        ckpt_path=folder.checkpoint if resume else None,
        weights_only=True,
    )
    return monitor


def evaluate(
    config: Config, experiment: Experiment, folder: RunFolder
) -> tuple[list[Row], dict[int, float]]:
    """The rows of a finished run, computed and kept where this evaluation was never asked for.

    With them comes the share of the test prompts, by length, that training had met.
    """
    name = folder.rows_name(asdict(config))
    rows = folder.read_rows(name)
    if not rows:
        load_weights(experiment.net, read_checkpoint(folder.checkpoint))
        rows = _evaluate(config, experiment, folder, name)
    return rows, folder.seen_in_training(name)


def _say_how_it_was_made(config: Config, folder: RunFolder) -> None:
    before, now = folder.status(), circumstances(config.threads)
    changed = [
        f"{key} is {now[key]} now and was {before.get(key)}"
        for key in now.keys() - {"started", "host", "threads"}
        if now[key] != before.get(key)
    ]
    made = f"posenc {before['posenc']}, commit {before['commit']}"
    logger.info("already trained with %s; overwrite=true trains it again", made)
    for change in sorted(changed):
        logger.info("  %s", change)


def _evaluate(config: Config, experiment: Experiment, folder: RunFolder, name: str) -> list[Row]:
    """Evaluates at every length and writes the rows."""
    experiment.net.to("cuda" if config.trainer.accelerator == "gpu" else "cpu")
    asked = {"samples": config.eval.samples, "seed": config.eval.seed}
    lengths = experiment.evaluated
    scores = by_length(experiment.net, experiment.task, experiment.positions, lengths, **asked)
    rows = [_row(config, experiment, score) for score in scores]
    count = config.trainer.max_steps * config.trainer.accumulate_grad_batches
    seen = seen_in_training(batches(config, experiment), count, lengths=lengths, **asked)
    folder.write_seen_in_training(name, seen)
    folder.write_rows(name, rows)
    return rows


def _row(config: Config, experiment: Experiment, score: LengthScore) -> Row:
    chance = experiment.task.chance(score.length)
    return {
        **identity(asdict(config)),
        "train_max": config.length.train,
        "in_range": config.length.min <= score.length <= config.length.train,
        **asdict(score),
        "chance": chance.exact,
        "token_chance": chance.token,
        "positions_at_eval": config.positions.get("at_eval", config.positions["name"]),
        "draws": experiment.positions.draws,
        "eval_seed": config.eval.seed,
    }


def _publish(config: Config, experiment: Experiment, log: EventLog, rows: list[Row]) -> None:
    lengths, exact = [row["length"] for row in rows], [row["exact"] for row in rows]
    final = {
        "final/in_range_exact": statistics.trained_mean(exact, [r["in_range"] for r in rows]),
        "final/score": statistics.score(lengths, exact, config.length.train),
        "final/holds_to": statistics.holds_to(lengths, exact) or 0,
    }
    publish(
        log,
        experiment,
        rows,
        settings={
            **identity(asdict(config)),
            "lr": config.optimizer.lr,
            "width": config.model.width,
            "max_steps": config.trainer.max_steps,
        },
        final={name: value for name, value in final.items() if value is not None},
        seed=config.eval.seed,
    )
