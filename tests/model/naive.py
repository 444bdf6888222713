"""Slow twins of the model, written from the definition: one query of one head at a time."""

import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.model.attention import Attention
from posenc.model.transformer import Transformer


def attention(module: Attention, x: Tensor, ids: Tensor, encoding: Encoding) -> Tensor:
    """(B,T,D) -> (B,T,D): every token asks, and what may not be looked at is left out."""
    tokens, (width, heads) = x.shape[1], (encoding.shape.width, encoding.shape.heads)
    keys, values = module.to_keys_values(x).split(width, dim=-1)

    def by_head(y: Tensor) -> Tensor:
        return torch.stack(y.split(width // heads, dim=-1), dim=1)

    q, k, v = by_head(module.to_queries(x)), by_head(keys), by_head(values)
    tables = encoding.prepare(ids, ids)
    q, k = encoding.rotate(q, k, tables)
    logits = torch.einsum("bhqk,bhtk->bhqt", q, k) / (width / heads) ** 0.5
    if (bias := encoding.bias(tables)) is not None:
        logits = logits + bias
    if encoding.score is not None:
        causal = torch.ones(1, 1, tokens, tokens, dtype=torch.bool).tril()
        logits = encoding.score(logits, q, k, tables, causal if encoding.shape.causal else None)
    mixed = []
    for query in range(tokens):
        seen = slice(0, query + 1 if encoding.shape.causal else tokens)
        exponentials = (logits[:, :, query, seen] - logits[:, :, query, seen].amax(-1, True)).exp()
        weights = exponentials / exponentials.sum(-1, keepdim=True)
        mixed.append((weights[..., None] * v[:, :, seen]).sum(-2))  # (B,H,K)
    return module.merge(torch.stack(mixed, dim=1).flatten(2))


def transformer(net: Transformer, tokens: Tensor, ids: Tensor) -> Tensor:
    """(B,T) -> (B,T,V): every layer for every token."""
    x = net.encodings[0].embed(net.embedding(tokens), ids)
    for layer, block in enumerate(net.blocks):
        encoding = net.encodings[layer if len(net.encodings) > 1 else 0]
        x = x + attention(block.attention, block.attention_norm(x), ids, encoding)
        x = x + block.mlp(block.mlp_norm(x))
    return net.unembedding(net.norm(x))
