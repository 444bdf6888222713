"""An endless stream of training batches, each a pure function of the seed and its number."""

import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import count, repeat

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
    """Serves batches 0, 1, 2, ..., or what follows the last step after a restart, as one stream.

    What Lightning takes for a batch is the stream itself, of which a training step uses as many
    batches as it likes; `accumulate` of them make an optimizer step. To be closed at the end.
    """

    def __init__(self, batches: Batches, *, accumulate: int, workers: int) -> None:
        super().__init__()
        self.batches = batches
        self.accumulate = accumulate
        self.workers = workers
        self._stream: Generator[Sample] | None = None

    def train_dataloader(self) -> Iterable[Iterator[Sample]]:
        """Lightning calls this after it has restored its counters from a checkpoint."""
        assert self.trainer is not None
        self._stream = self._batches(self.trainer.global_step * self.accumulate)
        return repeat(self._stream)

    def _batches(self, start: int) -> Generator[Sample]:
        """Without workers there is no DataLoader, which would only add its cost to every step."""
        served: Iterable[Sample] = map(self.batches.__getitem__, count(start))
        if self.workers:
            served = DataLoader(
                self.batches,
                batch_size=None,
                sampler=BatchNumbers(start),
                num_workers=self.workers,
                worker_init_fn=_leave_signals_to_the_trainer,
            )
        yield from served

    def close(self) -> None:
        """Ends the workers, which heed no signal."""
        if self._stream is not None:
            self._stream.close()


def _leave_signals_to_the_trainer(worker: int) -> None:
    """Whoever stops a run often signals its workers too, whose death would pass for a failure."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
