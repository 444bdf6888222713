"""Data-adaptive bias: a small network rewrites a bias of the distance, given what content says.

    logit(i, j) = s + b + f(s, b),  s = q_i . k_j / sqrt(K) and b = bias(i, j), each of all heads

f is a network of 32 leaky ReLU units from 2H numbers to H, one pair at a time. Zheng et al., arXiv
2405.14722; their code, which is followed, adds b as well, and so does their text after its first
formula. f's last bias is left out: it would add the same to a whole row, which attention cannot
see. Defined for a causal decoder; in an encoder, which is our reading, mirror images look alike as
they do to the base. Past the trained length b goes on as it does in the base alone, while f meets
biases that it was never trained on.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from posenc.encodings.alibi import ALiBi
from posenc.encodings.base import Encoding
from posenc.encodings.fire import FIRE
from posenc.encodings.kerple_log import KERPLELog
from posenc.errors import check_choice
from posenc.shapes import Shape

BASES: dict[str, Callable[[Shape, float | None], Encoding]] = {
    "alibi": lambda shape, _: ALiBi(shape),
    "kerple_log": lambda shape, _: KERPLELog(shape),
    "fire": lambda shape, threshold: FIRE(shape, threshold=threshold),
}
"""Each makes a base from a shape and a threshold, which FIRE alone has."""


class DAPE(Encoding):
    """Has an f in each layer; the base is shared by layers, or not, as it is alone.

    `base` is one of BASES. `threshold` goes to FIRE, where None stands for its published one unless
    the program fills it in; the other bases have no use for it.

    Its score sees logits with whatever bias stands beside it in `combined`, and takes that for
    content: s holds it, b does not.

    Raises ConfigError for another base, and where FIRE refuses the threshold.
    """

    per_layer = True

    def __init__(
        self, shape: Shape, *, base: str = "alibi", threshold: float | None = None
    ) -> None:
        super().__init__(shape)
        self.base = BASES[check_choice("encoding.base", base, BASES)](shape, threshold)
        self.hidden = nn.Linear(2 * shape.heads, 32)
        self.out = nn.Linear(32, shape.heads, bias=False)

    def share(self, first: Encoding) -> None:
        if not self.base.per_layer:
            self.base = cast(DAPE, first).base

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        return cast(Tensor, self.base.bias(self.base.prepare(query_ids, key_ids)))

    def score(
        self, logits: Tensor, q: Tensor, k: Tensor, tables: Tensor, visible: Tensor | None
    ) -> Tensor:
        # Heads stay where they are, and rows with the same ids see their bias mixed once.
        of_content, of_bias = self.hidden.weight.chunk(2, dim=1)
        biases = mixed(of_bias, tables) + self.hidden.bias[:, None, None]
        hidden = leaky_relu(mixed(of_content, logits) + biases)
        return logits + tables + mixed(self.out.weight, hidden)


def mixed(weight: Tensor, maps: Tensor) -> Tensor:
    """(F,H), (B,H,Q,T) -> (B,F,Q,T)."""
    return torch.einsum("fh,bhqt->bfqt", weight, maps)
