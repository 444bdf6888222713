"""What is seen of a training run while it goes on: logged figures and a progress bar."""

import time
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from posenc.metrics import AnswerMetrics
from posenc.training.watching import Watcher

COLUMNS = (
    TextColumn("training"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeRemainingColumn(),
    TextColumn("{task.fields[figures]}"),
)

REDRAWN = 0.1
"""Seconds between two positions of the bar, which is drawn no more often."""


class Monitor(Watcher):
    """Every `log_every_n_steps` of the trainer, and at the end: loss, exact match and speed.

    Between those steps nothing is computed and nothing is read back from the device. `show` is told
    the step, and as `steps_per_second` the mean speed so far, whenever the bar may be drawn.
    """

    def __init__(self, *, progress_bar: bool, show: Callable[..., None]) -> None:
        self.tokens = 0
        """Tokens trained on since this process took up the run."""
        self.seconds = 0.0
        """Wall-clock seconds that they took."""
        self._show = show
        self._started = time.perf_counter()
        self._bar = Progress(*COLUMNS, console=Console(stderr=True), disable=not progress_bar)

    def due(self, step: int) -> bool:
        return self._logged_at(step) or time.perf_counter() > self._drawn + REDRAWN

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock and draws the bar."""
        self._first_step = self._logged_step = trainer.global_step
        self._every, self._last_step = trainer.log_every_n_steps, trainer.max_steps  # type: ignore[attr-defined]
        self._logged_tokens = 0
        self._started = self._logged_time = time.perf_counter()
        self._line = self._bar.add_task("", total=trainer.max_steps, figures="")
        self._bar.start()
        self._draw(trainer)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        """Counts; at the steps that are logged, also measures."""
        step = trainer.global_step
        self.tokens += outputs["tokens"]
        if time.perf_counter() > self._drawn + REDRAWN:
            self._draw(trainer)
        if self._logged_at(step) and step != self._logged_step:
            self._log(trainer, outputs)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops the clock."""
        self._draw(trainer)
        self._stop()

    def on_exception(self, *_: Any) -> None:
        """Leaves a clean terminal to whatever is said about the failure."""
        self._stop()

    def _logged_at(self, step: int) -> bool:
        return step % self._every == 0 or step == self._last_step

    def _stop(self) -> None:
        self.seconds = time.perf_counter() - self._started
        self._bar.stop()

    def _draw(self, trainer: pl.Trainer) -> None:
        step, self._drawn = trainer.global_step, time.perf_counter()
        self._bar.update(self._line, completed=step)
        if trainer.is_global_zero:
            speed = (step - self._first_step) / (self._drawn - self._started)
            self._show(step, steps_per_second=round(speed, 4) or None)

    def _log(self, trainer: pl.Trainer, outputs: Any) -> None:
        step, now = trainer.global_step, time.perf_counter()
        metrics = AnswerMetrics().to(outputs["logits"].device)
        own = outputs["batch"].rows(outputs["rows"])
        metrics.update(outputs["logits"], own.answer, own.scored)
        metrics.sync()  # with the other ranks, as below; each has its share of the loss
        loss = trainer.strategy.reduce(outputs["losses"][-1], reduce_op="sum").item()
        elapsed = now - self._logged_time
        figures = {
            "train/loss": loss,
            "train/exact": metrics.compute()["exact"].item(),
            "train/tokens_per_second": (self.tokens - self._logged_tokens) / elapsed,
            "train/lr": trainer.optimizers[0].param_groups[0]["lr"],
        }
        speed = (step - self._logged_step) / elapsed
        self._logged_step, self._logged_tokens, self._logged_time = step, self.tokens, now
        text = f"loss {loss:.3f}  exact {figures['train/exact']:.3f}  {speed:.0f} steps/s"
        self._bar.update(self._line, completed=step, figures=text)
        if trainer.logger is not None:
            trainer.logger.log_metrics(figures, step)
