"""The loop of train.py against the one that anybody writes by hand."""

from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from os import environ
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from unittest.mock import patch

from torch.nn.utils import clip_grad_norm_

from posenc import fitting
from posenc.benchmarks.figures import Figure
from posenc.benchmarks.plan import Plan
from posenc.building import batches, build, optimizer_maker
from posenc.experiment import Experiment
from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.run import train
from posenc.schema import Config
from posenc.seeding import generator
from posenc.tasks.base import Sample
from posenc.training.callbacks import Probes
from posenc.training.data import Batches

SETS = ("trainer.max_steps", "eval.samples", "seed")
TURN = 10
"""Steps that each loop takes while the other waits."""


def bare(config: Config) -> Iterator[None]:
    """The loop by hand; every `next` is one training step."""
    experiment = build(config)
    net, positions, data = experiment.net, experiment.positions, batches(config, experiment)
    optimizer, schedule = optimizer_maker(config)(net)
    for step in range(config.trainer.max_steps):
        batch = data[step]
        tokens = arrange(batch, ask=net.ask, causal=net.shape.causal)
        stream = generator(config.seed, "positions", step)
        ids = positions.train(slots(batch, causal=net.shape.causal), stream)
        optimizer.zero_grad()
        logits = net(tokens, ids, batch.answer.shape[1])
        answer_loss(logits, batch.answer, batch.scored).backward()
        if config.trainer.gradient_clip_val:
            clip_grad_norm_(net.parameters(), config.trainer.gradient_clip_val)
        optimizer.step()
        schedule.step()
        yield


class Turns:
    """The batches of train.py; whenever it asks for one more turn of them, the other loop goes on.

    Both loops then take the same steps at nearly the same time, so whatever slows the machine down
    slows both.
    """

    def __init__(self, data: Batches, other: Iterator[None]) -> None:
        self.data = data
        self.other = other
        self.began = 0.0
        """When the first batch was asked for."""
        self.lent = 0.0
        """Seconds that the other loop took."""

    def __getitem__(self, number: int) -> Sample:
        if number % TURN == 0:
            started = perf_counter()
            self.began = self.began or started
            for _ in range(TURN):
                next(self.other, None)
            self.lent += perf_counter() - started
        return self.data[number]


class Terminal(StringIO):
    """A bar is drawn on what says that it is one."""

    def isatty(self) -> bool:
        return True


def measure(plan: Plan) -> Iterator[Figure]:
    """Steps a second of train.py against the bare loop, both on the same batches.

    Everything is on: bar, TensorBoard, metrics, checkpoints, and the probes, which are timed apart.
    """
    found = [_round(plan, seed) for seed in range(plan.rounds + 1)][1:]
    setting = "train.py / bare loop, steps a second"
    apart = [lent / (own - probes) for own, lent, probes in found]
    yield Figure(f"{setting}, probes apart", "", apart, at_least=0.95)
    yield Figure(f"{setting}", "", [lent / own for own, lent, _ in found])
    share = [probes / own for own, _, probes in found]
    yield Figure("probes, share of training", "", share, at_most=0.03)


def _round(plan: Plan, seed: int) -> tuple[float, float, float]:
    """Seconds of a run, of the bare loop within it, and of the run's probes."""
    steps = plan.size(500, 20)
    config = plan.config(f"trainer.max_steps={steps}", "eval.samples=16", f"seed={seed}")
    lending: list[Turns] = []
    probing = [0.0]
    ended = 0.0
    look, stop = Probes.on_train_batch_end, Probes.on_train_end

    def turns(config: Config, experiment: Experiment) -> Turns:
        lending.append(Turns(batches(config, experiment), bare(config)))
        return lending[0]

    def timed(*arguments: Any) -> None:
        started = perf_counter()
        look(*arguments)
        probing[0] += perf_counter() - started

    def last(*arguments: Any) -> None:
        nonlocal ended
        ended = perf_counter()
        stop(*arguments)

    with (
        TemporaryDirectory() as outputs,
        patch.object(fitting, "batches", turns),
        patch.object(Probes, "on_train_batch_end", timed),
        patch.object(Probes, "on_train_end", last),
        redirect_stdout(StringIO()),
        redirect_stderr(Terminal()),
        patch.dict(environ, TERM="xterm"),
    ):
        train(replace(config, outputs=outputs))
    (lent,) = lending
    return ended - lent.began - lent.lent, lent.lent, probing[0]
