"""Contextual positions: how far a key lies behind is counted by gates that read the content.

    g(i, j) = sigmoid(q_i . k_j / sqrt(K)),  p(i, j) = min(g(i, j) + ... + g(i, i), rows - 1)
    logit(i, j) = q_i . k_j / sqrt(K) + q_i . e[p(i, j)],  e linear between whole positions

Golovneva et al., arXiv 2405.18719, for a causal decoder alone. Their text leaves out every sqrt(K);
their listing, which is followed, divides the contents by it, also in the gate, but not the second
term. Position ids have no part in it: positions differ from ids by what is read, and the causal
mask alone tells what lies between. Past the trained length sums grow until they stop at the last
row; rows that training never reaches stay zero, as they start.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape


class CoPE(Encoding):
    """Has a table e of its own in each layer, shared by its heads, which starts at zero.

    Its score sees logits with whatever bias stands beside it in `combined`, so a bias moves gates.

    Raises ConfigError unless there are at least 2 `rows`, and for a model that is not causal.
    """

    per_layer = True
    causal_only = True

    def __init__(self, shape: Shape, *, rows: int = 64) -> None:
        super().__init__(shape)
        if rows < 2:
            raise ConfigError(f"encoding.rows={rows}: must be at least 2, 64 is published")
        self.rows = rows
        self.table = nn.Parameter(torch.zeros(rows, shape.head_width))

    def score(
        self,
        logits: Tensor,
        q: Tensor,
        k: Tensor,
        tables: tuple[Tensor, Tensor],
        visible: Tensor | None,
    ) -> Tensor:
        gates = logits.sigmoid()
        if visible is not None:
            gates = gates.masked_fill(~visible, 0)
        # In float32 at least: bfloat16 could not count past 256.
        gates = gates.to(torch.promote_types(gates.dtype, torch.float32))
        position = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=self.rows - 1)
        below = position.detach().floor().long()
        above = (below + 1).clamp(max=self.rows - 1)
        products = q @ self.table.T  # (B,H,Q,rows)
        share = (position - below).to(products.dtype)
        return logits + products.gather(-1, below).lerp(products.gather(-1, above), share)
