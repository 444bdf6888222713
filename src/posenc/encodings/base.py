"""The contract of a positional encoding: five hooks, each of which does nothing by default.

An encoding sees position ids and nothing else: which id a token gets is the business of
`posenc.positions`, and who may look at whom is the business of the attention.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from posenc.shapes import Shape


class Encoding(nn.Module):
    """A positional encoding, built as `Encoding(shape, **its_own_settings)`.

    Ids are integer tensors of shape (1 or B, T). Queries and keys bring ids of their own, because
    the last layer of a network asks only where something is to be answered: Q <= T.
    """

    per_layer = False
    """Whether every layer has an instance of its own; otherwise one is shared by all."""

    max_length: int | None = None
    """Rows of a table that ends; None where every id is defined."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    def does_nothing(self) -> bool:
        """Whether every hook is left as it is here, so that positions go unmarked."""
        hooks = ("embed", "rotate", "bias", "score")
        return all(getattr(type(self), hook) is getattr(Encoding, hook) for hook in hooks)

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        """(B,T,D) -> (B,T,D): adds to the token embeddings, once, before the first layer."""
        return x

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Any:
        """(1 or B, Q), (1 or B, T) -> the tables that the hooks below share, once a forward."""
        return query_ids, key_ids

    def rotate(self, q: Tensor, k: Tensor, tables: Any) -> tuple[Tensor, Tensor]:
        """(B,H,Q,K), (B,H,T,K) -> the same, in every layer; may widen the last axis of both."""
        return q, k

    def bias(self, tables: Any) -> Tensor | None:
        """-> (1 or B, H, Q, T), added to the scaled logits before the mask, or None."""
        return None

    score: Callable[[Tensor, Tensor, Tensor, Any, Tensor | None], Tensor] | None = None
    """(logits, q, k, tables, visible) -> new (B,H,Q,T) logits, where they depend on content."""
