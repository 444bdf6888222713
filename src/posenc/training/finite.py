"""A run whose loss is no number any more has nothing left to learn."""

import math
from typing import Any

import pytorch_lightning as pl
import torch

from posenc.training.watching import Watcher


class FiniteLoss(Watcher):
    """Raises FloatingPointError, naming the step, at the first loss that is not finite.

    It reads the losses when somebody else looks at training, so that no step waits for a device;
    since that is so wherever a checkpoint is due, none holds what came of such a loss.
    """

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        """Of several batches that make a step, the first that is not finite is enough."""
        losses = torch.stack(outputs["losses"]).tolist()
        for step, loss in zip(outputs["steps"], losses, strict=True):
            if not math.isfinite(loss):
                raise FloatingPointError(f"the loss is {loss} at step {step}")
