"""What TensorBoard shows of a finished run beyond its training curves."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from pytorch_lightning.loggers import TensorBoardLogger
from torch import Tensor

from posenc.model.decoding import decode
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.results.figures import png
from posenc.seeding import generator
from posenc.tasks.base import Sample, Task, Vocabulary
from posenc.training.pictures import attention_picture, encoding_pictures

SAMPLES = 10
"""Problems shown as text."""


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


def publish_curve(log: EventLog, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows of lengths.csv with the length on the step axis: runs overlay as curves over length."""
    for row in rows:
        curve = {name: row[name] for name in ("exact", "token_accuracy")}
        log.log_metrics(
            {f"length_generalization/{name}": value for name, value in curve.items()}, row["length"]
        )


def publish_pictures(
    log: EventLog, net: Transformer, task: Task, positions: Positions, *, length: int, seed: int
) -> None:
    """Problems of one length with the answers given, attention to the first, and the encoding."""
    net = net.cpu().eval()
    sample = task.sample(SAMPLES, length, generator(seed, "evaluation", length))
    answers = sample.answer.shape[1]
    tokens = sample.prompt.shape[1] + answers
    stream = generator(seed, "evaluation positions", length, 0)
    watch: list[Tensor] = []
    ids = positions.evaluate(SAMPLES, tokens, stream)
    logits = decode(net, sample.prompt, ids, answers, watch)
    log.experiment.add_text("samples", _markdown(sample, logits.argmax(dim=-1), task.vocabulary))
    symbols = [*task.vocabulary.decode(sample.prompt[0].tolist()).split(), *["?"] * answers]
    pictures = {f"encoding/{k}": v for k, v in encoding_pictures(net.encoding, tokens).items()}
    for layer, weights in enumerate(watch, start=1):
        pictures[f"attention/layer{layer}"] = attention_picture(weights[0], symbols, layer)
    for tag, picture in pictures.items():
        pixels = np.asarray(Image.open(io.BytesIO(png(picture, scale=1))).convert("RGB"))
        log.experiment.add_image(tag, pixels, dataformats="HWC")


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
