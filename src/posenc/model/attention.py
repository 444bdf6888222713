"""Attention that takes whatever a positional encoding brings, and knows none of them by name.

q.k * scale + bias -> score -> mask -> softmax. Three paths give the same result: the fused kernel
with no bias, the fused kernel with one, and `attention_weights`, which spells every step out for
encodings whose logits depend on content and for anyone who wants to look at the weights.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from posenc.encodings.base import Encoding
from posenc.shapes import Shape


class Context(NamedTuple):
    """What one set of queries brings to every layer that it passes through."""

    tables: Any
    """Made by the encoding's `prepare`."""
    bias: Tensor | None
    """(1 or B, H, Q, T), or None."""
    visible: Tensor | None
    """(1,1,Q,T) bool, or None where everybody sees everything."""
    mask: Tensor | None
    """Bias and visibility in one, as the fused kernel takes them: always four axes, since torch
    2.13 is five times slower with three."""


def visibility(queries: int, keys: int, device: torch.device) -> Tensor | None:
    """Causal visibility by token order for the last `queries` of `keys` tokens; None for one."""
    if queries == 1:
        return None
    everything = torch.ones(1, 1, queries, keys, dtype=torch.bool, device=device)
    return everything.tril(keys - queries)


def context(encoding: Encoding, ids: Tensor, queries: int) -> Context:
    """Prepares the last `queries` of the tokens with these (1 or B, T) ids to ask all of them."""
    tables = encoding.prepare(ids[:, -queries:], ids)
    bias = encoding.bias(tables)
    visible = visibility(queries, ids.shape[1], ids.device) if encoding.shape.causal else None
    if bias is None or visible is None:
        mask = visible if bias is None else bias
    else:
        mask = bias.masked_fill(~visible, float("-inf"))
    return Context(tables, bias, visible, mask)


def attention_weights(
    q: Tensor,
    k: Tensor,
    *,
    scale: float,
    bias: Tensor | None = None,
    score: Callable[[Tensor], Tensor] | None = None,
    visible: Tensor | None = None,
) -> Tensor:
    """(B,H,Q,K), (B,H,T,K) -> (B,H,Q,T) rows that sum to one, step by step."""
    logits = q @ k.transpose(-1, -2) * scale
    if bias is not None:
        logits = logits + bias
    if score is not None:
        logits = score(logits)
    if visible is not None:
        logits = logits.masked_fill(~visible, torch.finfo(logits.dtype).min)
    return logits.softmax(dim=-1)


class Attention(nn.Module):
    """Multi-head self-attention: the last Q tokens ask, all T tokens answer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.scale = shape.head_width**-0.5
        self.to_queries = nn.Linear(shape.width, shape.width)
        self.to_keys_values = nn.Linear(shape.width, 2 * shape.width)
        self.merge = nn.Linear(shape.width, shape.width)

    def _split(self, x: Tensor) -> Tensor:
        """(B,T,D) -> (B,H,T,K)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(
        self,
        x: Tensor,
        queries: int,
        encoding: Encoding,
        context: Context,
        watch: list[Tensor] | None = None,
    ) -> Tensor:
        """(B,T,D) -> (B,Q,D); appends the (B,H,Q,T) weights to `watch` where it is given."""
        q = self._split(self.to_queries(x[:, -queries:]))
        k, v = map(self._split, self.to_keys_values(x).chunk(2, dim=-1))
        q, k = encoding.rotate(q, k, context.tables)
        if encoding.score is None and watch is None:
            # Queries and keys may have been widened; the fused kernel wants values just as wide.
            padded = pad(v, (0, q.shape[-1] - v.shape[-1]))
            mixed = scaled_dot_product_attention(
                q, k, padded, attn_mask=context.mask, scale=self.scale
            )[..., : v.shape[-1]]
        else:
            weights = self._weights(q, k, encoding, context)
            mixed = weights @ v
            if watch is not None:
                watch.append(weights)
        return self.merge(mixed.transpose(1, 2).flatten(2))

    def _weights(self, q: Tensor, k: Tensor, encoding: Encoding, context: Context) -> Tensor:
        rule = encoding.score

        def score(logits: Tensor) -> Tensor:
            assert rule is not None
            return rule(logits, q, k, context.tables, context.visible)

        return attention_weights(
            q,
            k,
            scale=self.scale,
            bias=context.bias,
            score=None if rule is None else score,
            visible=context.visible,
        )
