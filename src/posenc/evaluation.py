"""How well a network answers at each length: a pure function of the network and a seed."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from posenc.memory import release
from posenc.metrics import AnswerMetrics
from posenc.model.layout import arrange, slots
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.seeding import generator
from posenc.tasks.base import Sample, Task

TOKENS_AT_ONCE = 2**12
TOKENS_ON_GPU = 2**14
PAIRS_AT_ONCE = 2**22
LOGITS_AT_ONCE = 2**25
"""Tokens, pairs of them and logits in one forward pass: they bound its memory and change no
result. So few tokens stay in the cache of a CPU, which takes two thirds of the time of 2**14."""
TABLES_KEPT = 2**25
"""Numbers in the tables of a length that are kept for all its forward passes; where there would be
more, each makes its own."""
PIECE = 64
"""Problems of one shape, where those of one length have several."""


@dataclass(frozen=True)
class LengthScore:
    """Exact match, token accuracy and loss (nats a token) over `n` problems of one length.

    `tokens` counts the judged tokens at each place of their answers, and `correct` the right ones,
    over all draws of the ids.
    """

    length: int
    n: int
    exact: float
    token_accuracy: float
    loss: float
    tokens: tuple[int, ...]
    correct: tuple[int, ...]


def by_length(
    net: Transformer,
    task: Task,
    positions: Positions,
    lengths: Iterable[int],
    *,
    samples: int,
    seed: int,
) -> list[LengthScore]:
    """One score for each length, on problems that depend on `seed` and the length alone.

    Every network is therefore asked the same problems. The network comes back in the mode, train
    or eval, in which it was given, and no random numbers but the function's own are drawn.
    Raises FloatingPointError where the loss is not finite: such answers are no answers.
    """
    was_training, scores = net.training, list[LengthScore]()
    net.eval()
    try:
        with torch.inference_mode():
            for length in lengths:
                scores.append(_at(net, task, positions, length, samples, seed))
                release()  # the next length has tensors of other sizes
    finally:
        net.train(was_training)
    return scores


def bits_by_place(
    net: Transformer, task: Task, positions: Positions, length: int, *, samples: int, seed: int
) -> dict[int, float]:
    """Place of an answer -> mean bits a token, on the problems that `by_length` asks."""
    was_training = net.training
    net.eval()
    nats, asked = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.int64)
    try:
        with torch.inference_mode():
            for logits, part in _answered(net, task, positions, length, samples, seed):
                chosen = logits.double().log_softmax(dim=-1).gather(2, part.answer[..., None])
                loss = -chosen[..., 0]
                scored = torch.ones_like(loss) if part.scored is None else part.scored
                nats = nats + (loss * scored).sum(dim=0).cpu()
                asked = asked + scored.sum(dim=0).cpu()
    finally:
        net.train(was_training)
    places = asked.nonzero().flatten().tolist()
    return {place: (nats[place] / asked[place]).item() / math.log(2) for place in places}


def problems(task: Task, length: int, samples: int, seed: int) -> Iterator[Sample]:
    """What is asked at a length: all at once, or in pieces where a piece has a shape of its own."""
    if not task.varied:
        yield task.sample(samples, length, generator(seed, "evaluation", length))
        return
    for piece, start in enumerate(range(0, samples, PIECE)):
        stream = generator(seed, "evaluation", length, piece)
        yield task.sample(min(PIECE, samples - start), length, stream)


def _at(
    net: Transformer, task: Task, positions: Positions, length: int, samples: int, seed: int
) -> LengthScore:
    metrics = AnswerMetrics().to(net.embedding.weight.device)
    for logits, asked in _answered(net, task, positions, length, samples, seed):
        metrics.update(logits, asked.answer, asked.scored, asked.judged)
    scores = {name: value.item() for name, value in metrics.compute().items()}
    if not math.isfinite(scores["loss"]):
        raise FloatingPointError(f"the loss is {scores['loss']} at length {length}")
    return LengthScore(
        length=length,
        n=int(metrics.answers) // positions.draws,
        **scores,
        tokens=tuple(metrics.tokens.tolist()),
        correct=tuple(metrics.correct.tolist()),
    )


def _answered(
    net: Transformer, task: Task, positions: Positions, length: int, samples: int, seed: int
) -> Iterator[tuple[Tensor, Sample]]:
    """(B,A,V) logits and the B problems behind them, until all are through."""
    device, causal = net.embedding.weight.device, net.shape.causal
    most = TOKENS_AT_ONCE if device.type == "cpu" else TOKENS_ON_GPU
    for piece, sample in enumerate(problems(task, length, samples, seed)):
        text, answers = slots(sample, causal=causal), sample.answer.shape[1]
        rows = min(
            most // text.tokens,
            PAIRS_AT_ONCE // text.tokens**2,
            LOGITS_AT_ONCE // (answers * len(task.vocabulary)),
        )
        for draw in range(positions.draws):
            stream = generator(seed, "evaluation positions", length, draw + piece * positions.draws)
            ids = positions.evaluate(text, stream).to(device)
            layers = net.shape.layers if net.encoding.per_layer else 1
            few = layers * net.shape.heads * text.tokens**2 <= TABLES_KEPT
            contexts = net.contexts(ids, answers) if few and len(ids) == 1 else None
            for part in _parts(text.rows, max(1, rows)):
                asked = sample.rows(part).to(device)
                own_ids = ids if len(ids) == 1 else ids[part]
                inputs = arrange(asked, ask=net.ask, causal=causal)
                yield net(inputs, own_ids, answers, contexts=contexts), asked


def _parts(rows: int, most: int) -> Iterator[slice]:
    for start in range(0, rows, most):
        yield slice(start, start + most)
