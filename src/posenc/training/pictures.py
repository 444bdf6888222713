"""Pictures of an encoding, drawn from what its hooks do, and of the attention that was paid."""

from collections.abc import Mapping, Sequence

import altair as alt
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from posenc.encodings.base import Encoding
from posenc.results.figures import heat_map


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
            {"": added.tolist()},
            rows="position",
            columns="channel",
            title="added to the embedding",
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
            title="added to the logits",
            signed=True,
        )
    return pictures


def _by_head(maps: Tensor) -> Mapping[str, list[list[float]]]:
    """(H,Q,T) -> a titled matrix for each head."""
    return {f"head {head}": matrix.tolist() for head, matrix in enumerate(maps, start=1)}


def attention_picture(weights: Tensor, symbols: Sequence[str], layer: int) -> alt.FacetChart:
    """(H,Q,T) weights of a layer over named tokens, the last Q of which ask."""
    return heat_map(
        _by_head(weights),
        rows="asks",
        columns="is looked at",
        title=f"attention, layer {layer}",
        row_labels=symbols[-weights.shape[1] :],
        column_labels=symbols,
    )
