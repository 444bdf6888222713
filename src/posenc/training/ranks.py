"""Several processes of this machine that train one network together: ranks 0, 1, 2, ...

They are forks of the process that asks for them, so they have what it has built. It waits for them,
and whatever it cannot share with a fork (threads, connections) it must open later, or they must.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple

import torch
from torch import distributed
from torch.multiprocessing import _prctl_pr_set_pdeathsig  # type: ignore[attr-defined]

from posenc.errors import SIGNALS, Interrupted

GRACE = 30.0
"""Seconds that the other ranks have to end by themselves once one has failed or was stopped."""


class Failure(NamedTuple):
    """What a rank raised."""

    time: float
    error: BaseException
    traceback: str


def in_ranks(count: int, work: Callable[[int], None]) -> None:
    """Calls `work(rank)` in `count` processes of one thread, connected by torch.distributed.

    A signal to this process goes on to all of them. They begin with signals blocked, and see to it
    that they stop at the same step; at a second Ctrl-C they end at once. Raises what the first that
    failed raised, with its traceback as a note, ChildProcessError where one was killed, and
    Interrupted where a signal came. None of them outlives this call, nor this process.
    """
    fork = multiprocessing.get_context("fork")
    with TemporaryDirectory(prefix="posenc-") as folder:
        meeting = Path(folder)
        ranks = [
            fork.Process(target=_be, args=(rank, count, meeting, work)) for rank in range(count)
        ]
        try:
            with _started(ranks) as received:
                _wait(ranks)
            error = _first_error(ranks, meeting)
        finally:
            for rank in ranks:
                if rank.pid is not None:
                    rank.kill()
                    rank.join()
    if received and (error is None or _again(received)):
        error = Interrupted(128 + received[0])
    if error is not None:
        raise error


def _be(rank: int, count: int, meeting: Path, work: Callable[[int], None]) -> None:
    """The life of a rank. Only the first says anything."""
    _prctl_pr_set_pdeathsig(signal.SIGKILL)  # also where this process cannot be told: it was killed
    try:
        if rank > 0:
            logging.disable()
        torch.set_num_threads(1)  # threads that OpenMP had before the fork are no longer there
        os.environ.update(LOCAL_RANK=str(rank), NODE_RANK="0")  # by which Lightning knows its place
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting}/store", rank=rank, world_size=count
        )
        work(rank)
    except BaseException as error:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        failure = Failure(time.monotonic(), _portable(error), traceback.format_exc())
        (meeting / str(rank)).write_bytes(pickle.dumps(failure))
        raise SystemExit(1) from None


def _portable(error: BaseException) -> BaseException:
    """The same where another process can have it, else what can be said of it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def _started(ranks: Sequence[BaseProcess]) -> Iterator[list[int]]:
    """Starts them; inside, signals go on to them, and are listed in what it yields."""
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for rank in ranks:
            if rank.pid is not None and rank.exitcode is None:
                os.kill(rank.pid, signal.SIGKILL if _again(received) else number)

    numbers = [each for each in SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.getsignal(number) for number in numbers}
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        for rank in ranks:
            rank.start()
        for number in numbers:
            signal.signal(number, pass_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _again(received: Sequence[int]) -> bool:
    return received.count(signal.SIGINT) > 1


def _wait(ranks: Sequence[BaseProcess]) -> None:
    """Until all have ended, or one has ended badly and GRACE is over."""
    end = None
    while alive := [rank.sentinel for rank in ranks if rank.exitcode is None]:
        if end is None and any(rank.exitcode for rank in ranks):
            end = time.monotonic() + GRACE
        if not wait(alive, None if end is None else max(0.0, end - time.monotonic())):
            return


def _first_error(ranks: Sequence[BaseProcess], meeting: Path) -> BaseException | None:
    """That of the rank which failed first: the others only lost touch with it."""
    failures: dict[int, Failure] = {}
    for number, rank in enumerate(ranks):
        told = meeting / str(number)
        if rank.exitcode and told.exists():
            failures[number] = pickle.loads(told.read_bytes())
        elif rank.exitcode:
            how = signal.Signals(-rank.exitcode).name if rank.exitcode < 0 else str(rank.exitcode)
            return ChildProcessError(f"rank {number} of {len(ranks)} was ended by {how}")
    if not failures:
        return None
    number = min(failures, key=lambda each: failures[each].time)
    error = failures[number].error
    error.add_note(f"in rank {number} of {len(ranks)}:\n{failures[number].traceback}")
    return error
