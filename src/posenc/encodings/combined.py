"""Several encodings in one network, each with its own part in it.

    embed: x + e1 + e2,  rotate and score: of the one part that has them,  bias: b1 + b2

After the pairs of McLeish et al., arXiv 2405.17399, who add a learned table on Abacus positions to
FIRE or RoPE on the index of a token. Past the trained length it is as good as its parts allow.
"""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor, nn

from posenc.encodings.base import HOOKS, Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape


class Combined(Encoding):
    """Applies its parts in their order; of ids that are (1 or B, T, parts) each sees its own.

    Raises ConfigError where two parts change queries, keys or logits: which comes first is open.
    """

    def __init__(self, shape: Shape, *, parts: Sequence[Encoding]) -> None:
        super().__init__(shape)
        acting = [part for part in parts if {"rotate", "score"} & set(part.hooks())]
        if len(acting) > 1:
            names = ", ".join(type(part).__name__ for part in acting)
            raise ConfigError(f"encoding.parts: {names} act on queries and keys; keep one of them")
        self._parts = nn.ModuleList(parts)
        self.per_layer = any(part.per_layer for part in parts)
        self.real_ids = all(part.real_ids for part in parts)
        self.max_length = min((p.max_length for p in parts if p.max_length), default=None)
        self.score = self._score if "score" in self.hooks() else None

    @property
    def parts(self) -> list[Encoding]:
        return [cast(Encoding, part) for part in self._parts]

    def hooks(self) -> tuple[str, ...]:
        return tuple(hook for hook in HOOKS if any(hook in part.hooks() for part in self.parts))

    def share(self, first: Encoding) -> None:
        for number, (part, other) in enumerate(zip(self.parts, first.parts, strict=True)):
            if part.per_layer:
                part.share(other)
            else:
                self._parts[number] = other

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        for part, own in zip(self.parts, self._own(ids), strict=True):
            x = part.embed(x, own)
        return x

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> list[Any]:
        both = zip(self._own(query_ids), self._own(key_ids), strict=True)
        return [part.prepare(*ids) for part, ids in zip(self.parts, both, strict=True)]

    def _own(self, ids: Tensor) -> list[Tensor]:
        owns = [ids] * len(self.parts) if ids.dim() == 2 else ids.unbind(dim=-1)
        return [own if p.real_ids else own.long() for p, own in zip(self.parts, owns, strict=True)]

    def rotate(self, q: Tensor, k: Tensor, tables: list[Any]) -> tuple[Tensor, Tensor]:
        for part, table in zip(self.parts, tables, strict=True):
            q, k = part.rotate(q, k, table)
        return q, k

    def bias(self, tables: list[Any]) -> Tensor | None:
        biases = [part.bias(table) for part, table in zip(self.parts, tables, strict=True)]
        given = [bias for bias in biases if bias is not None]
        return sum(given[1:], given[0]) if given else None

    def _score(
        self, logits: Tensor, q: Tensor, k: Tensor, tables: list[Any], visible: Tensor | None
    ) -> Tensor:
        for part, table in zip(self.parts, tables, strict=True):
            if part.score is not None:
                logits = part.score(logits, q, k, table, visible)
        return logits
