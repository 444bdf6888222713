"""Pictures of an encoding, drawn from what its hooks do, and of the attention that was paid."""

from collections.abc import Mapping, Sequence

import altair as alt
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from posenc.encodings.base import Encoding
from posenc.results.figures import heat_map

HEADS = 8
"""Heads in one picture."""
CHANNELS = 128
"""Channels in the picture of what is added; the similarity beside it is that of all."""


@torch.inference_mode()
def encoding_pictures(encoding: Encoding, length: int) -> dict[str, alt.FacetChart]:
    """What an encoding adds, rotates or biases at positions 0..length-1, if anything."""
    shape = encoding.shape
    ids = torch.arange(length)[None]
    pictures = {}
    added = encoding.embed(torch.zeros(1, length, shape.width), ids)[0]
    if added.any():
        similarity = cosine_similarity(added[:, None], added[None], dim=-1)
        pictures["table"] = heat_map(
            {"": added[:, :CHANNELS].tolist()},
            rows="position",
            columns="channel",
            title="added to the embedding" + _shown("channels", CHANNELS, shape.width),
            signed=True,
        )
        pictures["similarity"] = heat_map(
            {"": similarity.tolist()},
            rows="position",
            columns="position",
            title="cosine similarity of what is added",
            signed=True,
        )
    tables = encoding.prepare(ids, ids)
    constant = torch.ones(1, shape.heads, length, shape.head_width)
    q, k = encoding.rotate(constant, constant, tables)
    if not torch.equal(q, constant):
        product = (q @ k.transpose(-1, -2))[0, 0] / shape.head_width
        pictures["rotation"] = heat_map(
            {"": product.tolist()},
            rows="query position",
            columns="key position",
            title="q.k / K for q and k of ones",
            signed=True,
        )
    bias = encoding.bias(tables)
    if bias is not None:
        pictures["bias"] = heat_map(
            _by_head(bias[0]),
            rows="query position",
            columns="key position",
            title="added to the logits" + _shown("heads", HEADS, shape.heads),
            signed=True,
        )
    return pictures


def _by_head(maps: Tensor) -> Mapping[str, list[list[float]]]:
    """(H,Q,T) -> a titled matrix for each of the first heads."""
    return {f"head {head}": matrix.tolist() for head, matrix in enumerate(maps[:HEADS], start=1)}


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
