"""Relative keys: every query also meets a learned vector for the clipped distance to each key.

    logit(i, j) = q_i . (k_j + a[clip(j - i)]) / sqrt(K),  clip(x) = min(max(x, -clip), clip)

Shaw et al., arXiv 1803.02155, who also add vectors to the values. Values are not an encoding's to
change here, so this is their model with keys alone, which their ablation finds as good. Past the
trained length all distances beyond `clip` share the last vector of their side, so none is new.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape


class Shaw(Encoding):
    """Has 2 clip + 1 vectors of its own in each layer and head, as published for the base model.

    They start with spread 1/sqrt(K). A causal model never uses those of the keys ahead.

    Raises ConfigError unless `clip` is at least 1.
    """

    per_layer = True
    real_ids = False

    def __init__(self, shape: Shape, *, clip: int = 16) -> None:
        super().__init__(shape)
        if clip < 1:
            raise ConfigError(f"encoding.clip={clip}: must be at least 1, 16 is published")
        self.clip = clip
        rows = torch.randn(shape.heads, 2 * clip + 1, shape.head_width)
        self.table = nn.Parameter(rows / shape.head_width**0.5)

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        ahead = key_ids[:, None, :] - query_ids[:, :, None]
        return ahead.clamp(-self.clip, self.clip) + self.clip

    def score(
        self, logits: Tensor, q: Tensor, k: Tensor, tables: Tensor, visible: Tensor | None
    ) -> Tensor:
        products = q @ self.table.transpose(1, 2) * self.shape.head_width**-0.5
        return logits + picked(products, tables)


def picked(products: Tensor, rows: Tensor) -> Tensor:
    """(B,H,Q,R) products with R rows of a table, (1 or B, Q, T) rows of pairs -> (B,H,Q,T).

    So nothing is ever as large as a vector for every pair.
    """
    return products.gather(-1, rows[:, None].expand(*products.shape[:2], -1, -1))
