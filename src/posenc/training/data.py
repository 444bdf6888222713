"""An endless stream of training batches, each a pure function of the seed and its number."""

import signal
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from posenc.seeding import generator
from posenc.tasks.base import Sample, Task


class Batches(Dataset[Sample]):
    """Batch i holds `rows` problems of one length, drawn uniformly from `lengths`, ascending.

    Over the first `growth` batches the longest of them grows from the shortest to the longest.
    """

    def __init__(
        self, task: Task, lengths: Sequence[int], *, rows: int, seed: int, growth: int = 0
    ) -> None:
        self.task = task
        self.lengths = lengths
        self.rows = rows
        self.seed = seed
        self.growth = growth

    def __getitem__(self, number: int) -> Sample:
        stream = generator(self.seed, "training", number)
        return self.task.sample(self.rows, self._length(number, stream), stream)

    def length(self, number: int) -> int:
        """The length of a batch, without making it."""
        return self._length(number, generator(self.seed, "training", number))

    def _length(self, number: int, stream: torch.Generator) -> int:
        """At batch i of growth g, one of the first share (i + 1) / g of the lengths."""
        count = len(self.lengths)
        if number < self.growth:
            count = -(-count * (number + 1) // self.growth)
        return self.lengths[int(torch.randint(count, (), generator=stream))]


class BatchNumbers(Sampler[int]):
    """From `start` on, without end."""

    def __init__(self, start: int) -> None:
        self.start = start

    def __iter__(self) -> Iterator[int]:
        return count(self.start)


class TrainingData(pl.LightningDataModule):
    """Serves batches 0, 1, 2, ... to a trainer, or what follows its last one after a restart."""

    def __init__(self, batches: Batches, *, workers: int) -> None:
        super().__init__()
        self.batches = batches
        self.workers = workers

    def train_dataloader(self) -> Iterable[Sample]:
        """Lightning calls this after it has restored its counters from a checkpoint.

        Without workers there is no DataLoader, which would only add its cost to every step.
        """
        assert self.trainer is not None
        start = self.trainer.fit_loop.epoch_loop.total_batch_idx + 1
        if self.workers == 0:
            return map(self.batches.__getitem__, count(start))
        return DataLoader(
            self.batches,
            batch_size=None,
            sampler=BatchNumbers(start),
            num_workers=self.workers,
            worker_init_fn=_leave_signals_to_the_trainer,
        )

    def transfer_batch_to_device(
        self, batch: Sample, device: torch.device, dataloader_idx: int
    ) -> Sample:
        """As Lightning does for any nesting of tensors, but without looking for one."""
        return batch.to(device)


def _leave_signals_to_the_trainer(worker: int) -> None:
    """Whoever stops a run often signals its workers too, whose death would pass for a failure."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
