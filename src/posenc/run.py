"""One run: build, fit, evaluate, record. The only file that turns a configuration into objects."""

import logging
import math
import warnings
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import OmegaConf
from rich.console import Console

from posenc.evaluation import LengthScore, by_length
from posenc.experiment import Experiment, build, load_weights, read_checkpoint
from posenc.recording import circumstances, kept_log, kept_status
from posenc.results import statistics
from posenc.results.records import RunFolder, evaluation_hash, identity
from posenc.results.terminal import print_run
from posenc.schema import Config
from posenc.training.callbacks import Interruption, LastCheckpoint, Probes
from posenc.training.dashboard import EventLog, publish
from posenc.training.data import Batches, TrainingData
from posenc.training.module import AnswerModule
from posenc.training.monitor import Monitor
from posenc.training.optimizer import adamw
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
                rows = evaluate(config, experiment, folder)
            else:
                rows = _trained(config, experiment, folder, interruption)
            with (folder.path / "train.log").open("a") as log:
                for console in (Console(highlight=False), Console(file=log, width=100)):
                    print_run(
                        rows,
                        folder=folder.path,
                        outputs=Path(config.outputs),
                        seen=folder.status()["seen_in_training"],
                        console=console,
                    )
    exact = [row["exact"] for row in rows]
    score = statistics.score([row["length"] for row in rows], exact, config.length.train)
    return math.nan if score is None else score


def _trained(
    config: Config, experiment: Experiment, folder: RunFolder, interruption: Interruption
) -> list[Row]:
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
        log = EventLog(str(folder.path), purge_step=None if state is None else step + 1)
    if state is not None and step >= config.trainer.max_steps:
        load_weights(experiment.net, state)
    else:
        monitor = _fit(config, experiment, folder, interruption, log, resume=state is not None)
        folder.write_status(
            train_seconds=round(monitor.seconds, 2),
            tokens_per_second=round(monitor.tokens / monitor.seconds),
        )
    rows = _evaluated(config, experiment, folder, "lengths.csv")
    seen = seen_in_training(
        _batches(config, experiment),
        config.trainer.max_steps * config.trainer.accumulate_grad_batches,
        lengths=experiment.evaluated,
        samples=config.eval.samples,
        seed=config.eval.seed,
    )
    if log is not None:
        _publish(config, experiment, log, rows)
    folder.write_status(
        status="finished",
        seen_in_training=seen,
        evaluation=evaluation_hash(settings),
        parameters=sum(parameter.numel() for parameter in experiment.net.parameters()),
    )
    return rows


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
    monitor = Monitor(progress_bar=config.trainer.enable_progress_bar)
    probes = Probes(
        experiment.task,
        experiment.probed,
        every=config.eval.probe_every,
        samples=config.eval.probe_samples,
        seed=config.eval.seed,
    )
    optimizer = asdict(config.optimizer)
    optimizer.pop("name")
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
            partial(adamw, **optimizer, max_steps=config.trainer.max_steps),
            seed=config.seed,
        ),
        TrainingData(_batches(config, experiment), workers=config.data.workers),
        ckpt_path=folder.checkpoint if resume else None,
        weights_only=True,
    )
    return monitor


def _batches(config: Config, experiment: Experiment) -> Batches:
    return Batches(
        experiment.task, experiment.trained, rows=config.data.batch_size, seed=config.seed
    )


def evaluate(config: Config, experiment: Experiment, folder: RunFolder) -> list[Row]:
    """The rows of a finished run, computed and kept where this evaluation was never asked for."""
    name = folder.rows_name(asdict(config))
    rows = folder.read_rows(name)
    if not rows:
        load_weights(experiment.net, read_checkpoint(folder.checkpoint))
        rows = _evaluated(config, experiment, folder, name)
    return rows


def _say_how_it_was_made(config: Config, folder: RunFolder) -> None:
    status, now = folder.status(), circumstances(config.threads)
    made = f"posenc {status['posenc']}, commit {status['commit']}"
    changed = "" if status["commit"] == now["commit"] else f" (the commit is now {now['commit']})"
    logger.info("already trained with %s%s; overwrite=true trains it again", made, changed)


def _evaluated(config: Config, experiment: Experiment, folder: RunFolder, name: str) -> list[Row]:
    """Evaluates at every length and writes the rows."""
    scores = by_length(
        experiment.net,
        experiment.task,
        experiment.positions,
        experiment.evaluated,
        samples=config.eval.samples,
        seed=config.eval.seed,
    )
    rows = [_row(config, experiment, score) for score in scores]
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
