"""One training step under Lightning."""

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from posenc.metrics import answer_loss
from posenc.model.layout import arrange
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.seeding import generator, stream_seed
from posenc.tasks.base import Sample


class AnswerModule(pl.LightningModule):
    """Learns to answer: `make_optimizer` turns the network into its optimizer and schedule.

    Position ids and dropout draw from streams addressed by (seed, batch number), so a resumed run
    goes on exactly as the unbroken one would have.
    """

    def __init__(
        self,
        net: Transformer,
        positions: Positions,
        make_optimizer: Callable[[nn.Module], tuple[Optimizer, LRScheduler]],
        *,
        seed: int,
    ) -> None:
        super().__init__()
        self.net = net
        self.positions = positions
        self.make_optimizer = make_optimizer
        self.seed = seed

    def on_train_batch_start(self, batch: Sample, batch_idx: int) -> None:
        """Dropout draws from PyTorch's default generator, which no checkpoint holds."""
        if self.net.dropout.p > 0:
            start = stream_seed(self.seed, "dropout", batch_idx)
            torch.default_generator.manual_seed(start)
            if self.device.type == "cuda":
                torch.cuda.manual_seed(start)

    def training_step(self, batch: Sample, batch_idx: int) -> dict[str, Tensor]:
        """-> the mean loss over scored tokens, and the (B,A,V) logits for whoever logs."""
        rows, answers = batch.answer.shape
        tokens = arrange(batch.prompt, batch.answer, ask=self.net.ask, causal=self.net.shape.causal)
        stream = generator(self.seed, "positions", batch_idx)
        ids = self.positions.train(rows, tokens.shape[1], stream).to(tokens.device)
        logits = self.net(tokens, ids, answers)
        loss = answer_loss(logits, batch.answer, batch.scored)
        return {"loss": loss, "logits": logits.detach()}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """By norm. Lightning's own way refuses fused optimizers under bf16."""
        if gradient_clip_val:
            clip_grad_norm_(self.net.parameters(), gradient_clip_val)

    def configure_optimizers(self) -> Any:
        """The schedule moves with every optimizer step."""
        optimizer, schedule = self.make_optimizer(self.net)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
