"""The contract of a positional encoding: it acts through `embed`, `rotate`, `bias` or `score`.

An encoding sees position ids and nothing else: which id a token gets is the business of
`posenc.positions`, and who may look at whom is the business of the attention.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from posenc.errors import ConfigError
from posenc.shapes import Shape

HOOKS = ("embed", "rotate", "bias", "score")
"""Each of them does nothing by default."""


class Encoding(nn.Module):
    """A positional encoding, built as `Encoding(shape, **its_own_settings)`.

    Ids are tensors of shape (1 or B, T), integers unless a source of positions draws real ones and
    `real_ids` allows it. They are never negative, may repeat, and may come in any order. Queries
    and keys bring ids of their own, because the last layer of a network asks only where something
    is to be answered: Q <= T.
    """

    per_layer = False
    """Whether every layer has an instance of its own; otherwise one is shared by all."""

    max_length: int | None = None
    """Rows of a table that ends; None where every id is defined."""

    real_ids = True
    """Whether ids may be real numbers; False where they choose rows of a table."""

    causal_only = False
    """Whether it is defined only where nobody looks ahead; any other shape is then refused."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        if self.causal_only and not shape.causal:
            name = type(self).__module__.rpartition(".")[2]
            raise ConfigError(f"encoding={name} is defined for causal models alone: model=decoder")
        self.shape = shape

    @property
    def parts(self) -> "Sequence[Encoding]":
        """The encoding itself, or those that it is made of."""
        return (self,)

    def share(self, first: "Encoding") -> None:
        """Takes over what all layers share; called on every later layer's instance, once made."""

    def hooks(self) -> tuple[str, ...]:
        """Those of HOOKS through which it acts; without any, positions go unmarked."""
        return tuple(h for h in HOOKS if getattr(type(self), h) is not getattr(Encoding, h))

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
