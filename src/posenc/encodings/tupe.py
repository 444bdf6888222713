"""Untied positions: contents are compared with contents, and positions with positions.

    logit(i, j) = (q_i . k_j + (p_i Uq) . (p_j Uk)) / sqrt(2 K)

Ke et al., arXiv 2006.15595, who call it TUPE-A; their TUPE-R adds T5's bias of the distance, which
is `tupe_relative` here. Their code passes p through a LayerNorm and gives Uq and Uk biases; the
text, which has neither, is followed. The text also unties the [CLS] token, which has no counterpart
here. Past the trained length rows of p stay as they were drawn, and past the last there is nothing.
"""

from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.encodings.learned import Learned
from posenc.shapes import Shape


class TUPE(Encoding):
    """Adds a bias made from a table of `max_length` positions, the same in every layer.

    The table starts as that of `learned` does, Uq and Uk as the projections of the content do.

    Raises ConfigError for a table without rows, and for an id past its end as `learned` does.
    """

    real_ids = False

    def __init__(self, shape: Shape, *, max_length: int = 512) -> None:
        super().__init__(shape)
        self.max_length = max_length
        self.places = Learned(shape, max_length=max_length)  # p
        self.to_queries = nn.Linear(shape.width, shape.width, bias=False)  # Uq
        self.to_keys = nn.Linear(shape.width, shape.width, bias=False)  # Uk

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        q = self._by_head(self.to_queries, query_ids)
        k = self._by_head(self.to_keys, key_ids)
        return q @ k.transpose(-1, -2) * (2 * self.shape.head_width) ** -0.5

    def _by_head(self, project: nn.Linear, ids: Tensor) -> Tensor:
        """(1 or B, T) -> (1 or B, H, T, K)."""
        return project(self.places.rows(ids)).unflatten(-1, (self.shape.heads, -1)).transpose(1, 2)

    def rotate(self, q: Tensor, k: Tensor, tables: Tensor) -> tuple[Tensor, Tensor]:
        return q * 2**-0.5, k  # the trunk divides by sqrt(K)

    def bias(self, tables: Tensor) -> Tensor:
        return tables
