"""How well a network answers at each length: a pure function of the network and a seed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from posenc.metrics import AnswerMetrics
from posenc.model.layout import arrange, slots
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.seeding import generator
from posenc.tasks.base import Task

TOKENS_AT_ONCE = 2**14
PAIRS_AT_ONCE = 2**23
"""Tokens, and pairs of them, in one forward pass: they bound its memory and change no result."""


@dataclass(frozen=True)
class LengthScore:
    """Exact match, token accuracy and loss (nats a token) over `n` problems of one length."""

    length: int
    n: int
    exact: float
    token_accuracy: float
    loss: float


def by_length(
    net: Transformer,
    task: Task,
    positions: Positions,
    lengths: Sequence[int],
    *,
    samples: int,
    seed: int,
) -> list[LengthScore]:
    """One score for each length, on problems that depend on `seed` and the length alone.

    Every network is therefore asked the same problems. The network comes back in the mode, train
    or eval, in which it was given, and no random numbers but the function's own are drawn.
    Raises FloatingPointError where the loss is not finite: such answers are no answers.
    """
    was_training = net.training
    net.eval()
    try:
        with torch.inference_mode():
            return [_at(net, task, positions, length, samples, seed) for length in lengths]
    finally:
        net.train(was_training)


def _at(
    net: Transformer, task: Task, positions: Positions, length: int, samples: int, seed: int
) -> LengthScore:
    device = net.embedding.weight.device
    metrics = AnswerMetrics().to(device)
    sample = task.sample(samples, length, generator(seed, "evaluation", length))
    answers = sample.answer.shape[1]
    tokens = sample.prompt.shape[1] + answers
    rows = max(1, min(TOKENS_AT_ONCE // tokens, PAIRS_AT_ONCE // tokens**2))
    for draw in range(positions.draws):
        stream = generator(seed, "evaluation positions", length, draw)
        ids = positions.evaluate(slots(sample, causal=net.shape.causal), stream)
        for start in range(0, samples, rows):
            part = slice(start, start + rows)
            prompt, answer = sample.prompt[part].to(device), sample.answer[part].to(device)
            scored = None if sample.scored is None else sample.scored[part].to(device)
            inputs = arrange(prompt, answer, ask=net.ask, causal=net.shape.causal)
            own_ids = (ids if len(ids) == 1 else ids[part]).to(device)
            metrics.update(net(inputs, own_ids, answers), answer, scored)
    scores = {name: value.item() for name, value in metrics.compute().items()}
    if not math.isfinite(scores["loss"]):
        raise FloatingPointError(f"the loss is {scores['loss']} at length {length}")
    return LengthScore(length=length, n=samples, **scores)
