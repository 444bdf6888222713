"""What happens around a training step: it is kept, it can be stopped, it is probed."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytorch_lightning as pl
import torch
from torch import distributed

from posenc.errors import SIGNALS, Interrupted, Torn
from posenc.evaluation import by_length
from posenc.tasks.base import Task
from posenc.training.module import AnswerModule
from posenc.training.watching import Watcher


class LastCheckpoint(Watcher):
    """Keeps the latest state, and no other, every so many optimizer steps.

    Lightning's ModelCheckpoint would rank checkpoints; here none is ever selected. Raises
    FloatingPointError rather than keep weights that are not finite.
    """

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = every
        self._kept: int | None = None
        """The step that is on disk; None until training has begun."""

    def due(self, step: int) -> bool:
        return step % self.every == 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A resumed run starts from a step that is already on disk."""
        self._kept = trainer.global_step

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Of several ranks each is asked after every batch, and several may end at one step."""
        if self.due(trainer.global_step) and trainer.global_step != self._kept:
            self._keep(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """The last state is always kept."""
        if trainer.global_step != self._kept:
            self._keep(trainer)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """An interruption comes between two batches, where the state is whole; errors may not.

        Nor is it whole before training has begun: a network not yet restored would be kept.
        """
        stopped = isinstance(exception, Interrupted) and not isinstance(exception, Torn)
        if stopped and self._kept not in (None, trainer.global_step):
            self._keep(trainer)

    def _keep(self, trainer: pl.Trainer) -> None:
        weights = trainer.lightning_module.parameters()
        if not all(weight.isfinite().all() for weight in weights):
            raise FloatingPointError(f"the weights are not finite at step {trainer.global_step}")
        for log in trainer.loggers:  # a resumed run never logs again what came before
            log.save()
        trainer.save_checkpoint(self.path)  # all ranks wait for the first, which writes
        self._kept = trainer.global_step


class Interruption(Watcher):
    """Lets SIGTERM and Ctrl-C end training between two steps, and anything else at once.

    Ranks that train together stop after the same step, whichever of them was told to.
    """

    def __init__(self) -> None:
        self._training = False
        self._alone = True
        self._received: int | None = None

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Inside, a signal raises Interrupted at the next moment when nothing is torn by it."""
        # What is ignored stays so: in a sweep's workers Ctrl-C is for their conductor to pass on.
        numbers = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._receive) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if not self._training:
            raise Interrupted(128 + number)
        if self._alone and number == signal.SIGINT and self._received is not None:
            raise Torn(128 + number)
        self._received = number

    def due(self, step: int) -> bool:
        return self._received is not None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """From here on a signal waits for the end of a step; Lightning's own handler would not."""
        self._training = True
        self._alone = trainer.world_size == 1
        signal.signal(signal.SIGTERM, self._receive)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # a rank has blocked them until now

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        """The moment between two steps; within one, gradients wait that no checkpoint holds."""
        if outputs["stepped"]:
            received = self._received if self._alone else self._agreed()
            if received:
                self._training = False
                raise Interrupted(128 + received)

    def _agreed(self) -> int:
        """The greatest signal that any rank has received, or 0."""
        received = torch.tensor(self._received or 0)
        distributed.all_reduce(received, distributed.ReduceOp.MAX)
        return int(received)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """From here on a signal acts at once again."""
        self._training = False
        if self._received is not None:
            raise Interrupted(128 + self._received)


class Probes(Watcher):
    """Logs `probe/exact/<length>` on a few problems at a few lengths while training goes on."""

    def __init__(
        self, task: Task, lengths: Sequence[int], *, every: int, samples: int, seed: int
    ) -> None:
        self.task = task
        self.lengths = lengths
        self.every = every
        self.samples = samples
        self.seed = seed

    def due(self, step: int) -> bool:
        return step % self.every == 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """A resumed run starts from a step that has been probed."""
        self._probed = trainer.global_step

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        """Draws from streams of its own, so training goes on as if it had not happened."""
        step = trainer.global_step
        if not self.due(step) or step == self._probed or trainer.logger is None:
            return
        self._probed = step
        assert isinstance(pl_module, AnswerModule)
        scores = by_length(
            pl_module.net,
            self.task,
            pl_module.positions,
            self.lengths,
            samples=self.samples,
            seed=self.seed,
        )
        exact = {f"probe/exact/{score.length}": score.exact for score in scores}
        trainer.logger.log_metrics(exact, step)
