"""T5's relative bias: one learned number for each head and bucket of distances.

    bias(i, j) = table[bucket(j - i)],  a row of numbers for the heads

Half of a direction's buckets hold one distance each, the rest widen logarithmically up to
`max_distance`, past which everything shares the last one. Past the trained length every distance
has a bucket, but one that training never reaches stays as it was drawn, and is noise there.

Raffel et al., arXiv 1910.10683. T5 itself does not divide logits by sqrt(K); this project's
attention does, for every encoding, so the bias weighs more here than there.
"""

import math

import torch
from torch import Tensor, nn

from posenc.encodings.pairwise import PairwiseBias
from posenc.errors import ConfigError
from posenc.shapes import Shape


class T5(PairwiseBias):
    """Adds a bias from one table, shared by all layers as published.

    A causal model spends every bucket on keys behind; any other gives the second half to keys
    ahead. Rows start with spread 1/sqrt(D), as in T5's code.

    The published `max_distance` is 128, a quarter of the 512 tokens it was trained on, so that
    training reaches every bucket. The default here is the default trained length for that reason.

    Raises ConfigError unless `buckets` is even and at least 4, and where `max_distance` lies among
    the distances that have a bucket to themselves.
    """

    starts: Tensor

    def __init__(self, shape: Shape, *, buckets: int = 32, max_distance: int = 20) -> None:
        super().__init__(shape)
        if buckets < 4 or buckets % 2:
            raise ConfigError(f"encoding.buckets={buckets}: must be even and at least 4")
        self.one_way = buckets if shape.causal else buckets // 2
        if max_distance <= self.one_way // 2:
            raise ConfigError(
                f"encoding.max_distance={max_distance}: must exceed {self.one_way // 2}, the "
                f"distances that encoding.buckets={buckets} tell apart one by one"
            )
        starts = torch.tensor(bucket_starts(self.one_way, max_distance))
        self.register_buffer("starts", starts, persistent=False)
        self.table = nn.Embedding(buckets, shape.heads)
        nn.init.normal_(self.table.weight, std=shape.width**-0.5)

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        return self.table(self.bucket(j - i)).permute(0, 3, 1, 2)

    def bucket(self, ahead: Tensor) -> Tensor:
        """Key id minus query id -> the row of the table, same shape."""
        if self.shape.causal:
            return torch.bucketize(-ahead, self.starts, right=True)
        side = torch.bucketize(ahead.abs(), self.starts, right=True)
        return side + self.one_way * (ahead > 0)


def bucket_starts(buckets: int, max_distance: int) -> list[int]:
    """The smallest distance in each bucket of one direction, from bucket 1 on."""
    exact = buckets // 2
    wide = buckets - exact
    edges = (exact * (max_distance / exact) ** (step / wide) for step in range(1, wide))
    # The tolerance is for edges that are whole numbers, which a root may miss by its rounding.
    return [*range(1, exact + 1), *(math.ceil(edge - 1e-9) for edge in edges)]
