"""Pictures of an encoding, drawn from what its hooks do, and of the attention that was paid."""

from bisect import bisect_right
from collections.abc import Sequence

import altair as alt
import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.experiment import Experiment
from posenc.model.layout import slots
from posenc.results.charts import Picture, curves, heat_map
from posenc.seeding import generator
from posenc.tasks.base import Task

PICTURES = ("table", "similarity", "rotation", "bias", "score", "distance")
"""All that there may be of an encoding."""
HEADS = 8
"""Heads in one picture."""
CHANNELS = 128
"""Channels in the picture of what is added; the similarity beside it is that of all."""
CELLS = 100
"""Positions along a side of a matrix; of longer texts every second is drawn, every third, ..."""
NOTHING = 1e-4
"""What nowhere changes a logit by more is not drawn."""
ON_LOGITS = {
    "rotation": "q.k / sqrt(K) of ones, relative to distance 0",
    "bias": "added to the logits",
    "score": "change of the logits of q and k of ones",
}
"""Titles of what hooks do to logits."""


def longest_fitting(task: Task, tokens: int, *, causal: bool) -> int:
    """The greatest length whose problems have no more tokens, prompt and answer together.

    The least length of the task where all have more.
    """
    legal = task.lengths(1, tokens + task.minimum)

    def size(length: int) -> int:
        return slots(task.largest(length), causal=causal).tokens

    return legal[max(bisect_right(legal, tokens, key=size) - 1, 0)]


def text_ids(experiment: Experiment, length: int, *, seed: int) -> Tensor:
    """(1, T) or (1, T, parts) ids that an evaluation gives to one problem of this length."""
    sample = experiment.task.sample(1, length, generator(seed, "picture"))
    text = slots(sample, causal=experiment.net.shape.causal)
    return experiment.positions.evaluate(text, generator(seed, "picture positions"))


@torch.inference_mode()
def encoding_pictures(encoding: Encoding, ids: Tensor) -> dict[str, Picture]:
    """What an encoding does to a text of two tokens or more with these (1, T) ids, if anything.

    `table` is what it adds to embeddings and `similarity` the inner products of that; `rotation`,
    `bias` and `score` are what those hooks do to logits, head by head; `distance` follows one query
    over all keys. Under a causal mask keys ahead stay blank.
    """
    tokens = ids.shape[1]
    step = -(-tokens // CELLS)
    drawn = torch.arange(0, tokens, step)
    added = encoding.embed(torch.zeros(1, tokens, encoding.shape.width), ids)[0]
    pictures: dict[str, Picture] = {}
    if added.any():
        pictures |= _of_embeddings(added, drawn, step)
    for name, maps in on_logits(encoding, ids, drawn).items():
        panels = _different_heads(maps[..., drawn])
        some = "" if len(panels) == 1 else _shown("heads", HEADS, len(maps))
        pictures[name] = heat_map(
            panels,
            rows=f"query position{_in_steps(step)}",
            columns=f"key position{_in_steps(step)}",
            title=ON_LOGITS[name] + some,
            signed=True,
            softened=True,  # a softmax sees differences of 1
            row_step=step,
            column_step=step,
        )
    asking = tokens - 1 if encoding.shape.causal else tokens // 2
    parts = on_logits(encoding, ids, torch.tensor([asking]))
    if parts:
        heads = _different_heads(torch.stack(list(parts.values())).sum(dim=0))
        acting = " + ".join(ON_LOGITS[name] for name in parts)
        pictures["distance"] = curves(
            {head: row for head, (row,) in heads.items()},
            first=-asking,
            x="position of the key - position of the query",
            y="effect on the logit",
            title=[f"query at position {asking}:", acting],  # in one line it would widen the chart
        )
    return pictures


def on_logits(encoding: Encoding, ids: Tensor, queries: Tensor) -> dict[str, Tensor]:
    """What hooks do to the logits of these (Q,) places of a text with (1, T) ids: name -> (H,Q,T).

    Queries and keys are ones before `rotate`, which counts relative to the logit of the query's own
    place: scaling all logits alike is nothing to draw. Keys that a causal mask hides are nan.
    Hooks that add nothing are left out.
    """
    shape, tokens = encoding.shape, ids.shape[1]
    visible = torch.ones(len(queries), tokens, dtype=torch.bool)
    if shape.causal:
        visible = torch.arange(tokens) <= queries[:, None]
    tables = encoding.prepare(ids[:, queries], ids)
    q, k = (torch.ones(1, shape.heads, n, shape.head_width) for n in (len(queries), tokens))
    q, k = encoding.rotate(q, k, tables)
    logits = q @ k.transpose(-1, -2) * shape.head_width**-0.5
    own = logits.gather(-1, queries[None, None, :, None].expand(1, shape.heads, -1, 1))
    parts = {"rotation": logits - own}
    bias = encoding.bias(tables)
    if bias is not None:
        parts["bias"] = bias
        logits = logits + bias
    if encoding.score is not None:
        parts["score"] = encoding.score(logits, q, k, tables, visible[None, None]) - logits
    return {
        name: part[0].masked_fill(~visible, float("nan"))
        for name, part in parts.items()
        if part[0].masked_fill(~visible, 0).abs().max() > NOTHING
    }


def _of_embeddings(added: Tensor, drawn: Tensor, step: int) -> dict[str, Picture]:
    """(T,D) vectors, of which some positions are drawn."""
    rows, middle = added[drawn], len(added) // 2
    similarity = rows @ rows.T
    return {
        "table": heat_map(
            {"": rows[:, :CHANNELS].tolist()},
            rows=f"position{_in_steps(step)}",
            columns="channel",
            title="added to the embedding" + _shown("channels", CHANNELS, added.shape[1]),
            signed=True,
            row_step=step,
        ),
        "similarity": heat_map(
            {"": similarity.tolist()},
            rows=f"position{_in_steps(step)}",
            columns=f"position{_in_steps(step)}",
            title="inner products of what is added",
            signed=True,
            row_step=step,
            column_step=step,
        ),
        "distance": curves(
            {"": (added @ added[middle]).tolist()},
            first=-middle,
            x=f"position - {middle}",
            y="inner product",
            title=f"inner products with what is added at position {middle}",
        ),
    }


def _different_heads(maps: Tensor) -> dict[str, list[list[float]]]:
    """As `_by_head`, but one for all of them where all are alike."""
    if len(maps) > 1 and (maps - maps[:1]).nan_to_num().abs().max() <= NOTHING:
        return {"every head": maps[0].tolist()}
    return _by_head(maps)


def _by_head(maps: Tensor) -> dict[str, list[list[float]]]:
    """(H,Q,T) -> a titled matrix for each of the first heads."""
    return {f"head {head}": matrix.tolist() for head, matrix in enumerate(maps[:HEADS], start=1)}


def _in_steps(step: int) -> str:
    return f" in steps of {step}" if step > 1 else ""


def _shown(things: str, most: int, there: int) -> str:
    return f", the first {most} of {there} {things}" if there > most else ""


def attention_picture(weights: Tensor, symbols: Sequence[str], layer: str) -> alt.FacetChart:
    """(H,Q,T) weights of a layer, say "3 of 4", over named tokens, the last Q of which ask."""
    return heat_map(
        _by_head(weights),
        rows="asks",
        columns="is looked at",
        title=f"attention, layer {layer}" + _shown("heads", HEADS, len(weights)),
        row_labels=symbols[-weights.shape[1] :],
        column_labels=symbols,
    )
