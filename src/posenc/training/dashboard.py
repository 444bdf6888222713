"""What can be looked at of a trained network: answers, its encoding, where it attends."""

import torch
from torch import Tensor

from posenc.experiment import Experiment
from posenc.model.decoding import decode
from posenc.model.layout import arrange, slots
from posenc.results.charts import Picture
from posenc.seeding import generator
from posenc.tasks.base import Sample, Vocabulary
from posenc.training.pictures import (
    attention_picture,
    encoding_pictures,
    longest_fitting,
    text_ids,
)

SAMPLES = 10
"""Problems shown as text."""
READABLE = 10
"""Tokens of prompt and answer in the problems that are shown, where such short ones are trained.

More would be too small to read in a picture of attention.
"""
POSITIONS = 48
"""The most tokens in the pictures of an encoding and of attention."""
LAYERS = 4
"""Layers whose attention is drawn: the first, the last, and some between."""


def samples_and_pictures(experiment: Experiment, seed: int) -> tuple[str, dict[str, Picture]]:
    """Some problems with the answers given, in Markdown, and what the network did to give them.

    That is pictures by name: of its encoding, and of the attention of some layers, `layer1_...`,
    to the first of the problems. The network comes back on the CPU and in evaluation mode.
    """
    net, task = experiment.net.cpu().eval(), experiment.tested
    causal = net.shape.causal
    fitting = longest_fitting(task, POSITIONS, causal=causal)
    shown = min(fitting, max(experiment.evaluated))  # further on a table may have no rows
    drawn = encoding_pictures(net.encoding, text_ids(experiment, shown, seed=seed))
    pictures = {f"encoding_{name}": picture for name, picture in drawn.items()}
    readable = longest_fitting(task, READABLE, causal=causal)
    short = [length for length in experiment.trained if length <= readable]
    length = max(short, default=experiment.trained[0])
    sample = task.sample(SAMPLES, length, generator(seed, "evaluation", length))
    stream = generator(seed, "evaluation positions", length, 0)
    watch: list[Tensor] = []
    text = slots(sample, causal=causal)
    ids = experiment.positions.evaluate(text, stream)
    given = decode(net, sample, ids, watch).argmax(dim=-1)
    if text.tokens <= POSITIONS:
        said = sample._replace(answer=given)
        seen = arrange(said, ask=net.ask, causal=causal)
        symbols = [(*task.vocabulary.symbols, "?")[token] for token in seen[0].tolist()]
        for layer in _spread(len(watch), LAYERS):
            weights, name = watch[layer - 1][0], f"{layer} of {len(watch)}"
            pictures[f"layer{layer}_attention"] = attention_picture(weights, symbols, name)
    return _markdown(sample, given, task.vocabulary), pictures


def _spread(there: int, most: int) -> list[int]:
    """At most so many of 1, ..., there: evenly spread, from the first to the last."""
    if there <= most:
        return list(range(1, there + 1))
    return [1 + round(k * (there - 1) / (most - 1)) for k in range(most)]


def _markdown(sample: Sample, given: Tensor, vocabulary: Vocabulary) -> str:
    scored = torch.ones_like(given, dtype=torch.bool) if sample.scored is None else sample.scored
    judged = scored if sample.judged is None else sample.judged
    lines = ["| prompt | answer | model says | |", "|---|---|---|---|"]
    for prompt, answer, said, asked, counts in zip(
        sample.prompt, sample.answer, given, scored, judged, strict=True
    ):
        verdict = "right" if torch.equal(answer[counts], said[counts]) else "**wrong**"
        parts = (prompt, answer[asked], said[asked])
        words = (vocabulary.decode(part.tolist()) for part in parts)
        lines.append(f"| {' | '.join(words)} | {verdict} |")
    return "\n".join(lines)
