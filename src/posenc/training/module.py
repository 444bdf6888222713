"""Training steps under Lightning, which is called between them only where somebody looks."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytorch_lightning as pl
import torch
from pytorch_lightning.core.optimizer import LightningOptimizer
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.seeding import generator, stream_seed
from posenc.tasks.base import Sample


class AnswerModule(pl.LightningModule):
    """Learns to answer: `make_optimizer` turns the network into its optimizer and schedule.

    Position ids and dropout draw from streams addressed by (seed, batch number), so a resumed run
    goes on exactly as the unbroken one would have. The optimizer steps once for `accumulate`
    batches, with the norm of the gradients clipped to `clip` where one is given.

    Of ranks that train together each takes its rows of every batch, and their gradients add up to
    those of the whole batch; dropout alone draws for each rank apart. `compiled` lets torch.compile
    work on the network for the steps of training.

    `pause` says after which optimizer steps somebody looks. Up to the next of these, Lightning's
    "training step" takes one step after the other from the stream of batches: what Lightning does
    between two costs a twentieth of a step of a small network. Of several ranks, each is paused
    after every batch, so that they are at the same one.
    """

    def __init__(
        self,
        net: Transformer,
        positions: Positions,
        make_optimizer: Callable[[nn.Module], tuple[Optimizer, LRScheduler]],
        *,
        seed: int,
        accumulate: int,
        clip: float | None,
        compiled: bool,
        pause: Callable[[int], bool],
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.net = net
        self.positions = positions
        self.make_optimizer = make_optimizer
        self.seed = seed
        self.accumulate = accumulate
        self.parts: float = accumulate
        """By which a loss is divided before its gradients are added up."""
        self.clip = clip
        self.pause = pause
        self.rows = slice(None)
        """Those of a batch that are this rank's."""
        self._rank: tuple[int, ...] = ()
        """Empty where there is but one."""
        self._parameters_of_net = tuple(net.parameters())
        """To walk through all modules for them at each step takes longer than to clip them."""
        self._backward: Callable[[Tensor], None] = Tensor.backward
        self._answers: Callable[..., Tensor] = net.forward
        if compiled:  # for whatever length comes; with the random numbers of the network itself
            self._answers = torch.compile(
                net.forward, dynamic=True, options={"fallback_random": True}
            )

    def on_fit_start(self) -> None:
        """Learns of other ranks; Lightning divides the sum of all gradients by their number."""
        ranks = self.trainer.world_size
        if ranks > 1:
            self._rank = (self.global_rank,)
            self.rows = slice(self.global_rank, None, ranks)
            self.parts = self.accumulate / ranks
            self._backward = self.manual_backward  # which has them meet, and costs a little

    def on_train_start(self) -> None:
        """A resumed run goes on with the batch that its step begins with."""
        self._number = self.trainer.global_step * self.accumulate

    def training_step(self, batches: Iterator[Sample], batch_idx: int) -> dict[str, Any]:
        """Learns until it is paused.

        -> the `losses` of all batches and the `steps` that they belong to, the number of `tokens`,
        and of the last one the `batch`, the `rows` that were learned, their `logits`, and whether
        the optimizer `stepped`.
        """
        losses, steps, tokens = [], [], 0
        for batch in batches:
            step = self._number // self.accumulate + 1
            loss, logits, stepped = self.learn(batch.to(self.device), self._number)
            self._number += 1
            losses.append(loss)
            steps.append(step)
            tokens += batch.prompt.numel() + batch.answer.numel()
            if self._rank or (stepped and (step == self.trainer.max_steps or self.pause(step))):
                break
        return {
            "losses": losses,
            "steps": steps,
            "tokens": tokens,
            "batch": batch,
            "rows": self.rows,
            "logits": logits,
            "stepped": stepped,
        }

    def learn(self, batch: Sample, number: int) -> tuple[Tensor, Tensor, bool]:
        """-> what `loss` does, without gradients, and whether the optimizer stepped."""
        self._seed_dropout(number)
        loss, logits = self.loss(batch, number)
        self._backward(loss / self.parts)
        stepped = (number + 1) % self.accumulate == 0
        if stepped:
            self._step()
        return loss.detach(), logits.detach(), stepped

    def _seed_dropout(self, number: int) -> None:
        """Dropout draws from PyTorch's default generator, which no checkpoint holds."""
        if self.net.dropout.p > 0:
            start = stream_seed(self.seed, "dropout", number, *self._rank)
            torch.default_generator.manual_seed(start)
            if self.device.type == "cuda":
                torch.cuda.manual_seed(start)

    def loss(self, batch: Sample, number: int) -> tuple[Tensor, Tensor]:
        """-> the mean loss over scored tokens, and the (B,A,V) logits.

        Of several ranks each gets its share of that mean, which is their sum, and its own logits.
        """
        stream = generator(self.seed, "positions", number)
        ids = self.positions.train(slots(batch, causal=self.net.shape.causal), stream)
        if not self._rank:
            logits = self._logits(batch, ids)
            return answer_loss(logits, batch.answer, batch.scored), logits
        own = batch.rows(self.rows)
        logits = self._logits(own, ids if len(ids) == 1 else ids[self.rows])
        scored = batch.answer.numel() if batch.scored is None else batch.scored.sum()
        return answer_loss(logits, own.answer, own.scored, reduction="sum") / scored, logits

    def _logits(self, batch: Sample, ids: Tensor) -> Tensor:
        tokens = arrange(batch, ask=self.net.ask, causal=self.net.shape.causal)
        return self._answers(tokens, ids.to(tokens.device), batch.answer.shape[1])

    def _step(self) -> None:
        optimizer = cast(LightningOptimizer, self.optimizers())
        if self.clip:
            clip_grad_norm_(self._parameters_of_net, self.clip)
        optimizer.step()
        optimizer.zero_grad()
        cast(LRScheduler, self.lr_schedulers()).step()

    def configure_optimizers(self) -> Any:
        """The schedule moves with every optimizer step."""
        optimizer, schedule = self.make_optimizer(self.net)
        return [optimizer], [schedule]
