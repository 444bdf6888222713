"""One run: build, fit, evaluate, record."""

import logging
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import torch
from omegaconf import OmegaConf
from rich.console import Console

from posenc.building import build, check_training
from posenc.checkpoint import load_weights, resumed_step
from posenc.experiment import Experiment
from posenc.fitting import fit, fit_in_ranks
from posenc.hyperparameters import hyperparameters
from posenc.model.layout import slots
from posenc.publishing import publish
from posenc.recording import circumstances, disk_faults_told, kept_log, kept_status
from posenc.results.details import print_details
from posenc.results.disk import fault
from posenc.results.identity import identity
from posenc.results.outcome import Result
from posenc.results.records import RunFolder
from posenc.results.terminal import print_run
from posenc.schema import Config
from posenc.scoring import Row, evaluate, score
from posenc.training.callbacks import Interruption
from posenc.training.loggers import check, opened
from posenc.training.runlog import RunLog, Settings

logger = logging.getLogger(__name__)

MANY = 4096
"""Tokens of a problem of which a run warns."""


def train(config: Config, overrides: Iterable[str] = (), *, quiet: bool = False) -> Result:
    """Does what is still to be done of a run; prints its result, unless `quiet`, and returns it.

    `overrides` are what its command line sets, by which a table of runs tells it from others.
    Raises ConfigError before anything is written, RunFailed for whatever breaks later.
    """
    warnings.filterwarnings("ignore", ".*does not have many workers.*")  # none is the fastest here
    warnings.filterwarnings("ignore", ".*LeafSpec.*")  # torch 2.13 of pytorch_lightning 2.6
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    torch.set_num_threads(config.threads)
    experiment = build(config)
    check(config.logger)
    check_training(config)
    columns = hyperparameters(asdict(config), overrides)
    folder = RunFolder.of(asdict(config))
    interruption = Interruption()
    with folder.locked(), interruption.handling_signals():
        with disk_faults_told(folder):
            if config.overwrite:
                folder.clear()
            log = folder.path / "train.log"
            with kept_log(log), kept_status(folder):
                rows, seen = _rows(config, experiment, folder, interruption, columns)
            with log.open("a", encoding="utf-8") as file:
                _print(config, folder, rows, seen, Console(file=file, width=100))
        if not quiet:
            _print(config, folder, rows, seen, Console(highlight=False))
    return Result(folder, folder.rows_name(asdict(config)), rows)


def _rows(
    config: Config,
    experiment: Experiment,
    folder: RunFolder,
    interruption: Interruption,
    columns: Settings,
) -> tuple[list[Row], dict[int, float]]:
    """Does what is still to be done; returns what `evaluate` does."""
    status = folder.status()
    if status.get("status") == "finished":
        _say_how_it_was_made(config, folder)
        step = None
        if status.get("published"):
            return evaluate(config, experiment, folder)
    else:
        step = _begin(config, experiment, folder)
    settings = _hyperparameters(config, columns)
    if step is not None and config.trainer.devices > 1:
        step = fit_in_ranks(config, experiment, folder, interruption, settings, step)
    with opened(config.logger, folder, resumed_at=step, settings=settings) as log:
        if step is not None:
            _train(config, experiment, folder, interruption, log, step)
        rows, seen = evaluate(config, experiment, folder)
        if log is not None:
            try:
                publish(log, config, experiment, folder, columns)
                folder.write_status(published=True)
            except Exception as error:
                if fault(folder.path, error):
                    raise
                name = config.logger["name"]
                logger.exception("%s lacks the end of this run; its rows are complete", name)
    return rows, seen


def _begin(config: Config, experiment: Experiment, folder: RunFolder) -> int:
    """Makes the folder that of a running run; returns the step that it goes on from."""
    settings = asdict(config)
    folder.checkpoint.parent.mkdir(exist_ok=True)
    resuming = folder.checkpoint.exists()
    step = resumed_step(experiment.net, folder.checkpoint) if resuming else 0
    folder.write("config.yaml", OmegaConf.to_yaml(OmegaConf.create(settings)))
    trainer = {"devices": config.trainer.devices, "compile": config.trainer.compile}
    folder.begin(settings, resumed_from=step, **trainer, **circumstances(config.threads))
    longest = experiment.evaluated[-1]
    tokens = slots(experiment.tested.largest(longest), causal=config.model.causal).tokens
    if tokens > MANY:
        logger.warning("length %s has %s tokens: to test it may take long", longest, tokens)
    taken_up = f"resumed at step {step}" if resuming else "started"
    logger.info("%s in %s", taken_up, folder.path)
    return step


def _train(
    config: Config,
    experiment: Experiment,
    folder: RunFolder,
    interruption: Interruption,
    log: RunLog | None,
    step: int,
) -> None:
    """Fits, or goes on fitting, then evaluates and records."""
    if step >= config.trainer.max_steps:
        load_weights(experiment.net, folder.checkpoint)
    else:
        fit(config, experiment, folder, interruption, log, step)
    score(config, experiment, folder, "lengths.csv")
    folder.write_status(
        status="finished",
        parameters=sum(parameter.numel() for parameter in experiment.net.parameters()),
    )


def _say_how_it_was_made(config: Config, folder: RunFolder) -> None:
    before, now = folder.status(), circumstances(config.threads)
    changed = [
        f"{key} is {now[key]} now and was {before.get(key)}"
        for key in now.keys() - {"started", "host", "threads"}
        if now[key] != before.get(key)
    ]
    made = f"posenc {before.get('posenc')}, commit {before.get('commit')}"
    logger.info("already trained with %s; overwrite=true trains it again", made)
    for change in sorted(changed):
        logger.info("  %s", change)


def _print(
    config: Config, folder: RunFolder, rows: list[Row], seen: dict[int, float], console: Console
) -> None:
    """The result."""
    print_details(folder.path, folder.rows_name(asdict(config)), console)
    print_run(rows, folder=folder.path, outputs=Path(config.outputs), seen=seen, console=console)


def _hyperparameters(config: Config, columns: Settings) -> Settings:
    """What tells runs apart in a service, where each can be looked at with many others."""
    return {
        **identity(asdict(config)),
        "lr": config.optimizer.lr,
        "width": config.model.width,
        "max_steps": config.trainer.max_steps,
        **columns,
    }
