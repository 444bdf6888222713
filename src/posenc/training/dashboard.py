"""What TensorBoard shows of a finished run beyond its training curves."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from posenc.experiment import Experiment
from posenc.model.decoding import decode
from posenc.model.layout import arrange, slots
from posenc.results.charts import png
from posenc.seeding import generator
from posenc.tasks.base import Sample, Vocabulary
from posenc.training.pictures import (
    attention_picture,
    encoding_pictures,
    longest_fitting,
    text_ids,
)
from posenc.training.runlog import EventLog, publish_metrics

SAMPLES = 10
"""Problems shown as text."""
READABLE = 12
"""The length up to which problems are shown, where so short ones are trained."""
POSITIONS = 64
"""The most tokens in the pictures of an encoding and of attention."""
LAYERS = 4
"""Layers whose attention is drawn: the first, the last, and some between."""


def publish(
    log: EventLog,
    experiment: Experiment,
    rows: Sequence[Mapping[str, Any]],
    *,
    bits: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    final: Mapping[str, float],
    seed: int,
) -> None:
    """Length curves from rows of lengths.csv, curves by place from those of bits.csv, samples,
    pictures, and settings with final metrics.

    Everything is drawn first and written together, so that a crash leaves all of it or nothing.
    """
    text, pictures = _text_and_pictures(experiment, seed)
    publish_metrics(log, rows, bits=bits, settings=settings, final=final)
    log.experiment.add_text("samples", text)
    for tag, pixels in pictures.items():
        log.experiment.add_image(tag, pixels, dataformats="HWC")
    log.experiment.close()


def _text_and_pictures(
    experiment: Experiment, seed: int
) -> tuple[str, dict[str, NDArray[np.uint8]]]:
    """Some problems with the answers given, and pictures by tag."""
    net, task = experiment.net.cpu().eval(), experiment.tested
    fitting = longest_fitting(task, POSITIONS, causal=net.shape.causal)
    shown = min(fitting, max(experiment.evaluated))  # further on a table may have no rows
    drawn = encoding_pictures(net.encoding, text_ids(experiment, shown, seed=seed))
    charts = {f"encoding/{name}": chart for name, chart in drawn.items()}
    short = [length for length in experiment.trained if length <= READABLE]
    length = max(short, default=experiment.trained[0])
    sample = task.sample(SAMPLES, length, generator(seed, "evaluation", length))
    stream = generator(seed, "evaluation positions", length, 0)
    watch: list[Tensor] = []
    text = slots(sample, causal=net.shape.causal)
    ids = experiment.positions.evaluate(text, stream)
    given = decode(net, sample, ids, watch).argmax(dim=-1)
    if text.tokens <= POSITIONS:
        said = sample._replace(answer=given)
        seen = arrange(said, ask=net.ask, causal=net.shape.causal)
        symbols = [(*task.vocabulary.symbols, "?")[token] for token in seen[0].tolist()]
        for layer in _spread(len(watch), LAYERS):
            weights, name = watch[layer - 1][0], f"{layer} of {len(watch)}"
            charts[f"attention/layer{layer}"] = attention_picture(weights, symbols, name)
    shown_text = _markdown(sample, given, task.vocabulary)
    return shown_text, {tag: _pixels(chart) for tag, chart in charts.items()}


def _spread(there: int, most: int) -> list[int]:
    """At most so many of 1, ..., there: evenly spread, from the first to the last."""
    if there <= most:
        return list(range(1, there + 1))
    return [1 + round(k * (there - 1) / (most - 1)) for k in range(most)]


def _pixels(chart: alt.TopLevelMixin) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(png(chart, scale=1))).convert("RGB"))


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
