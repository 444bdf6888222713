"""What TensorBoard shows of a finished run beyond its training curves."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pytorch_lightning.loggers import TensorBoardLogger
from torch import Tensor

from posenc.experiment import Experiment
from posenc.model.decoding import decode
from posenc.results.figures import png
from posenc.seeding import generator
from posenc.tasks.base import Sample, Vocabulary
from posenc.training.pictures import attention_picture, encoding_pictures

SAMPLES = 10
"""Problems shown as text."""
POSITIONS = 64
"""Positions in the pictures of an encoding."""


class EventLog(TensorBoardLogger):
    """TensorBoard events in the run folder itself, which makes one run in TensorBoard's list.

    `purge_step` is the step from which a resumed run writes again.
    """

    def __init__(self, folder: str, *, purge_step: int | None) -> None:
        super().__init__(
            folder, name="", version="", default_hp_metric=False, purge_step=purge_step
        )

    def save(self) -> None:
        """Flushes; Lightning would add an hparams.yaml, which config.yaml makes needless."""
        self.experiment.flush()

    def finalize(self, status: str) -> None:
        """Flushes; closing after the fit would split what follows into a second file."""
        self.experiment.flush()


def publish(
    log: EventLog,
    experiment: Experiment,
    rows: Sequence[Mapping[str, Any]],
    *,
    settings: Mapping[str, Any],
    final: Mapping[str, float],
    seed: int,
) -> None:
    """Length curves from rows of lengths.csv, samples, pictures, and settings with final metrics.

    Everything is drawn first and written together, so that a crash leaves all of it or nothing.
    """
    text, pictures = _portrait(experiment, seed)
    for row in rows:  # the length stands on the step axis: runs overlay as curves over length
        curve = {name: row[name] for name in ("exact", "token_accuracy")}
        log.log_metrics(
            {f"length_generalization/{name}": value for name, value in curve.items()}, row["length"]
        )
    log.experiment.add_text("samples", text)
    for tag, pixels in pictures.items():
        log.experiment.add_image(tag, pixels, dataformats="HWC")
    log.log_hyperparams(dict(settings), dict(final))
    log.experiment.close()


def _portrait(experiment: Experiment, seed: int) -> tuple[str, dict[str, NDArray[np.uint8]]]:
    """Problems of the longest trained length with the answers given, and pictures by tag."""
    trained, encoding = experiment.trained, experiment.net.cpu().eval().encoding
    sample, logits, _ = _answered(experiment, trained[-1], seed)
    text = _markdown(sample, logits.argmax(dim=-1), experiment.task.vocabulary)
    positions = min(POSITIONS, encoding.max_length or POSITIONS)
    charts = {f"encoding/{k}": v for k, v in encoding_pictures(encoding, positions).items()}
    # Attention is shown at a length whose words can still be read beside the cells.
    sample, _, watch = _answered(experiment, trained[len(trained) // 3], seed)
    symbols = experiment.task.vocabulary.decode(sample.prompt[0].tolist()).split()
    symbols += ["?"] * sample.answer.shape[1]
    for layer, weights in enumerate(watch, start=1):
        charts[f"attention/layer{layer}"] = attention_picture(weights[0], symbols, layer)
    return text, {tag: _pixels(chart) for tag, chart in charts.items()}


def _answered(
    experiment: Experiment, length: int, seed: int
) -> tuple[Sample, Tensor, list[Tensor]]:
    """Problems from the evaluation, the logits of greedy answers, and the attention paid."""
    sample = experiment.task.sample(SAMPLES, length, generator(seed, "evaluation", length))
    answers = sample.answer.shape[1]
    tokens = sample.prompt.shape[1] + answers
    stream = generator(seed, "evaluation positions", length, 0)
    ids = experiment.positions.evaluate(SAMPLES, tokens, stream)
    watch: list[Tensor] = []
    return sample, decode(experiment.net, sample.prompt, ids, answers, watch), watch


def _pixels(chart: alt.FacetChart) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(png(chart, scale=1))).convert("RGB"))


def _markdown(sample: Sample, given: Tensor, vocabulary: Vocabulary) -> str:
    scored = torch.ones_like(given, dtype=torch.bool) if sample.scored is None else sample.scored
    lines = ["| prompt | answer | model says | |", "|---|---|---|---|"]
    for prompt, answer, said, counts in zip(
        sample.prompt, sample.answer, given, scored, strict=True
    ):
        verdict = "right" if torch.equal(answer[counts], said[counts]) else "**wrong**"
        words = (vocabulary.decode(part.tolist()) for part in (prompt, answer, said))
        lines.append(f"| {' | '.join(words)} | {verdict} |")
    return "\n".join(lines)
