"""FIRE: a small network of the distance, as a share of how far a query can look back.

    bias(i, j) = f(psi(|i - j|) / psi(max(|m| L, i))),  psi(x) = log(1 + |c| x)

f is a network of 32 ReLU units, one output for each head. Li et al., arXiv 2310.04418. A query
whose id is below the threshold |m| L takes shares of the threshold, one beyond it shares of its own
id: only below it is the bias one of the distance alone. The published L is 512 tokens; no query of
a shorter text ever passes it, so choose it near the trained length. f's last bias is left out: it
would add the same to a whole row, which attention cannot see. They define it for a causal decoder;
that distances count in both directions is our reading, so in an encoder mirror images look alike,
and a key far ahead may have a share above 1. Past the trained length a query's distances are
squeezed into the shares that training has met, once its id exceeds the threshold.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.pairwise import PairwiseBias
from posenc.errors import at_least_one
from posenc.shapes import Shape


class FIRE(PairwiseBias):
    """Adds a bias from f, c and m of its own in every layer, as in released code.

    c starts at 0.1 and m at 1. `threshold` is L; None leaves it to the program, which takes the
    longest trained length, and means the published 512 to the class alone.

    Raises ConfigError unless `threshold` is a number of at least 1.
    """

    per_layer = True

    def __init__(self, shape: Shape, *, threshold: float | None = None) -> None:
        super().__init__(shape)
        self.threshold = at_least_one("encoding.threshold", threshold, alone=512)
        self.c = nn.Parameter(torch.tensor(0.1))
        self.m = nn.Parameter(torch.tensor(1.0))
        # In place: 32 numbers for each pair of tokens are most of what a long text takes.
        activation = nn.ReLU(inplace=True)
        self.f = nn.Sequential(nn.Linear(1, 32), activation, nn.Linear(32, shape.heads, bias=False))

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        # At least one token, or the first query would divide by nothing.
        threshold = (self.m.abs() * self.threshold).clamp(min=1)
        reach = torch.maximum(i, threshold)
        share = self._psi((i - j).abs()) / (self._psi(reach) + 1e-6)
        return self.f(share[..., None].to(self.dtype)).permute(0, 3, 1, 2)

    def _psi(self, x: Tensor) -> Tensor:
        return (self.c.abs() * x).log1p()
