"""The training of a run, by this process or by several, up to its last step."""

from contextlib import closing
from dataclasses import asdict

import pytorch_lightning as pl
from pytorch_lightning.plugins.environments import LightningEnvironment

from posenc.building import batches, optimizer_maker
from posenc.experiment import Experiment
from posenc.results.progress import Progress
from posenc.results.records import RunFolder
from posenc.schema import Config
from posenc.training.callbacks import Interruption, LastCheckpoint, Probes
from posenc.training.data import TrainingData
from posenc.training.finite import FiniteLoss
from posenc.training.loggers import opened
from posenc.training.module import AnswerModule
from posenc.training.monitor import Monitor
from posenc.training.ranks import in_ranks
from posenc.training.runlog import RunLog, Settings
from posenc.training.storing import Checkpoints
from posenc.training.watching import Together


def fit_in_ranks(
    config: Config,
    experiment: Experiment,
    folder: RunFolder,
    interruption: Interruption,
    settings: Settings,
    step: int,
) -> int:
    """Fits from a step on in several processes; returns the step that the checkpoint has then.

    The first of them logs. A log does not survive a fork, so it opens its own, with `settings` as
    hyper-parameters; this process takes that up as the log of any run that was broken off.
    """

    def rank(number: int) -> None:
        if number > 0:
            fit(config, experiment, folder, interruption, None, step, watched=False)
            return
        with opened(config.logger, folder, resumed_at=step, settings=settings) as log:
            fit(config, experiment, folder, interruption, log, step)

    if step < config.trainer.max_steps:
        in_ranks(config.trainer.devices, rank)
    return config.trainer.max_steps


def fit(
    config: Config,
    experiment: Experiment,
    folder: RunFolder,
    interruption: Interruption,
    log: RunLog | None,
    step: int,
    *,
    watched: bool = True,
) -> None:
    """Fits from a step on, alone or as one of several ranks, keeps checkpoints, says how fast.

    Raises FloatingPointError, naming the step and the learning rate, where it diverges.
    """
    options = asdict(config.trainer)
    watched = options.pop("enable_progress_bar") and watched
    clip, accumulate = options.pop("gradient_clip_val"), options.pop("accumulate_grad_batches")
    compiled = options.pop("compile")
    progress = Progress(folder.path, "training", of=config.trainer.max_steps)
    monitor = Monitor(progress_bar=watched, show=progress.show)
    probes = Probes(
        experiment.tested,
        experiment.probed,
        every=config.eval.probe_every,
        samples=config.eval.probe_samples,
        seed=config.eval.seed,
    )
    watchers = Together(
        FiniteLoss(),
        monitor,
        probes,
        LastCheckpoint(folder.checkpoint, config.checkpoint.every),
        interruption,
    )
    trainer = pl.Trainer(
        **options,
        strategy="ddp" if config.trainer.devices > 1 else "auto",
        plugins=[LightningEnvironment(), Checkpoints()],  # of SLURM all ranks would be asked for
        logger=log or False,
        callbacks=watchers,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    module = AnswerModule(
        experiment.net,
        experiment.positions,
        optimizer_maker(config),
        seed=config.seed,
        accumulate=accumulate,
        clip=clip,
        compiled=compiled,
        pause=watchers.due,
    )
    served = batches(config, experiment)
    with closing(TrainingData(served, accumulate=accumulate, workers=config.data.workers)) as data:
        kept = folder.checkpoint if folder.checkpoint.exists() else None
        try:
            trainer.fit(module, data, ckpt_path=kept, weights_only=True)
        except FloatingPointError as error:
            remedy = f"lower optimizer.lr={config.optimizer.lr}"
            raise FloatingPointError(f"{error}: {remedy}") from error
    if trainer.is_global_zero:
        folder.write_status(
            train_seconds=round(monitor.seconds, 2),
            trained_steps=config.trainer.max_steps - step,
            tokens_per_second=round(monitor.tokens / monitor.seconds),
        )
