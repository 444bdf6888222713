"""KERPLE, power: a learned penalty that grows as a power of the distance.

    bias(i, j) = -r1 * |i - j|^r2,  r1 > 0 and 0 < r2 <= 2 learned for each head

Chi et al., arXiv 2205.09921, who define it for a causal decoder; r2 = 1 is ALiBi with a learned
slope. The bound on r2 keeps the kernel conditionally positive definite. In an encoder the distance
is taken in both directions, which is our reading: left and right weigh the same and mirror images
look alike. Their code overwrites parameters that leave their range in every forward pass; here a
softplus and a sigmoid keep them above 0.01, the floor of that code, and r2 below 2. Past the
trained length the penalty goes on growing, faster than ALiBi's where a head has learned r2 > 1.
"""

from torch import Tensor, nn

from posenc.encodings.kerple_log import FLOOR, positive, raw_uniform, uniform
from posenc.encodings.pairwise import PairwiseBias
from posenc.shapes import Shape


class KERPLEPower(PairwiseBias):
    """Adds a bias with two parameters for each head, shared by all layers as published.

    r1 starts uniform up to 1 and r2 up to 2, as in the authors' code.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.raw_r1 = nn.Parameter(raw_uniform(shape.heads, 1.0))
        self.raw_r2 = nn.Parameter(uniform(shape.heads).logit())

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        # In the dtype of the ids: an exponent rounded to bfloat16 is off by percents far away.
        raw_r1, raw_r2 = (raw.to(i.dtype)[:, None, None] for raw in (self.raw_r1, self.raw_r2))
        r1, r2 = positive(raw_r1), FLOOR + (2 - FLOOR) * raw_r2.sigmoid()
        return -r1 * (i - j).abs()[:, None] ** r2
