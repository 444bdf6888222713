"""Slow twin of what an encoding does to attention: one logit of one pair at a time, in float64."""

from collections.abc import Callable

import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.model.attention import attention_weights, context

B, T = 2, 7
IDS = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [9, 2, 2, 40, 0, 31, 8]])
"""(B,T), the second row neither sorted nor unique."""


def content(encoding: Encoding) -> Tensor:
    """(2,B,H,T,K) queries and keys."""
    shape = (2, B, encoding.shape.heads, T, encoding.shape.head_width)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def weights(encoding: Encoding, q: Tensor, k: Tensor, ids: Tensor) -> Tensor:
    """(B,H,T,T): what the network's attention makes of queries and keys before `rotate`."""
    prepared, rule = context(encoding, ids, ids.shape[1]), encoding.score
    q, k = encoding.rotate(q, k, prepared.tables)

    def score(logits: Tensor) -> Tensor:
        return rule(logits, q, k, prepared.tables, prepared.visible)

    return attention_weights(
        q,
        k,
        scale=encoding.shape.head_width**-0.5,
        bias=prepared.bias,
        score=None if rule is None else score,
        visible=prepared.visible,
    )


def check(encoding: Encoding, logit: Callable[[int, Tensor, Tensor, int, int], Tensor]) -> None:
    """Asserts that attention follows `logit(head, q_i, k_j, i, j)`, for ids i and j."""
    q, k = content(encoding)
    expected = torch.full((B, encoding.shape.heads, T, T), -torch.inf, dtype=torch.float64)
    for row, head, query, key in (expected == -torch.inf).nonzero().tolist():
        if key <= query or not encoding.shape.causal:
            i, j = IDS[row, query].item(), IDS[row, key].item()
            pair = q[row, head, query], k[row, head, key]
            expected[row, head, query, key] = logit(head, *pair, i, j)
    given = weights(encoding.double(), q, k, IDS)
    torch.testing.assert_close(given, expected.softmax(-1), atol=1e-12, rtol=1e-9)
