"""Disentangled attention: content meets the distance from the query's side and from the key's.

    logit(i, j) = [q_i . k_j + q_i . Kr(d(i, j)) + k_j . Qr(d(j, i))] / sqrt(3 K)
    Kr(r) = P_r Wk,  Qr(r) = P_r Wq,  d(a, b) = min(max(a - b + m, 0), 2m - 1),  m = max_distance

He et al., arXiv 2006.03654. Their code, and that of transformers, takes d(i, j) in the last term
too and gives Wq a bias; the paper's text is followed. Its absolute positions before the output
layer are left out. Past the trained length all distances from m on share the last vector of their
side, so none is new where training reached m.
"""

from typing import cast

from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.encodings.shaw import picked
from posenc.errors import ConfigError
from posenc.shapes import Shape


class DeBERTa(Encoding):
    """Has one table P of 2m rows for all layers, and projections Wk and Wq in each, as published.

    Rows start with spread 1, as loud as the normalised tokens that the trunk projects.

    The published m is 512, the length it was trained on. The default here is the default trained
    length for the same reason; products with all 2m rows are what this encoding costs.

    Raises ConfigError unless `max_distance` is at least 1.
    """

    per_layer = True
    real_ids = False

    def __init__(self, shape: Shape, *, max_distance: int = 20) -> None:
        super().__init__(shape)
        if max_distance < 1:
            raise ConfigError(f"encoding.max_distance={max_distance}: must be at least 1")
        self.max_distance = max_distance
        self.table = nn.Embedding(2 * max_distance, shape.width)  # P
        self.to_keys = nn.Linear(shape.width, shape.width, bias=False)  # Wk
        self.to_queries = nn.Linear(shape.width, shape.width, bias=False)  # Wq

    def share(self, first: Encoding) -> None:
        self.table = cast(DeBERTa, first).table

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Tensor, Tensor]:
        return self._rows(query_ids, key_ids), self._rows(key_ids, query_ids)

    def _rows(self, ids: Tensor, others: Tensor) -> Tensor:
        behind = ids[:, :, None] - others[:, None, :]
        return (behind + self.max_distance).clamp(0, 2 * self.max_distance - 1)

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return q * 3**-0.5, k  # the trunk divides by sqrt(K)

    def score(
        self,
        logits: Tensor,
        q: Tensor,
        k: Tensor,
        tables: tuple[Tensor, Tensor],
        visible: Tensor | None,
    ) -> Tensor:
        to_position, to_content = tables
        keys, queries = (
            project(self.table.weight).unflatten(-1, (self.shape.heads, -1)).permute(1, 2, 0)
            for project in (self.to_keys, self.to_queries)
        )  # (H,K,2m)
        scale = self.shape.head_width**-0.5
        from_query = picked(q @ keys * scale, to_position)
        from_key = picked(k @ queries * (scale * 3**-0.5), to_content)
        return logits + from_query + from_key.transpose(-1, -2)
