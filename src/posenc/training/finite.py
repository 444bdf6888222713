"""A run whose loss is no number any more has nothing left to learn."""

import math
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor


class FiniteLoss(pl.Callback):
    """Raises FloatingPointError, naming the step, at the first loss that is not finite.

    On a CPU it does so at once. A GPU would have to be waited for at each step; there the losses
    are only kept, and looked at together at the steps that are logged and every `every` steps,
    where a checkpoint is due: no later one holds what came of them.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._unread: list[tuple[int, Tensor]] = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        """Of several batches that make a step, the first that is not finite is enough."""
        loss, step = outputs["loss"], trainer.global_step + (not outputs["stepped"])
        if _is_at_hand(loss):
            _check([step], [loss.item()])
            return
        self._unread.append((step, loss))
        periods = (trainer.log_every_n_steps, self._every)  # type: ignore[attr-defined]
        due = step == trainer.max_steps or any(step % period == 0 for period in periods)
        if due and outputs["stepped"]:
            steps, losses = zip(*self._unread, strict=True)
            self._unread.clear()
            _check(steps, torch.stack(losses).tolist())


def _is_at_hand(loss: Tensor) -> bool:
    """Whether it can be read without waiting for a device."""
    return loss.device.type == "cpu"


def _check(steps: Any, losses: Any) -> None:
    for step, loss in zip(steps, losses, strict=True):
        if not math.isfinite(loss):
            raise FloatingPointError(f"the loss is {loss} at step {step}: lower optimizer.lr")
