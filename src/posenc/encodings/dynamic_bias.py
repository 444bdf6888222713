"""Dynamic position bias: a small network of the signed distance, learned with the rest.

    bias(i, j) = f(x),  x = sign(i - j) * log(1 + |i - j|)  or  x = i - j

In the form of x-transformers (`DynamicPositionBias`): f has two hidden layers of D/4 SiLU units
and one output for each head. The idea is that of CrossFormer, arXiv 2108.00154, for offsets in an
image, with LayerNorm and ReLU; Swin V2, arXiv 2111.09883, takes logarithms, one hidden layer of
ReLU, and 16 * sigmoid of the output. f's last bias is left out: it would add the same to a whole
row, which attention cannot see. Past the trained length f extrapolates, which a logarithm keeps
short.
"""

from torch import Tensor, nn

from posenc.encodings.pairwise import PairwiseBias
from posenc.shapes import Shape


class DynamicPositionBias(PairwiseBias):
    """Adds a bias from one network, shared by all layers, that tells left from right.

    `log_distance` chooses the logarithm, Swin V2's; x-transformers takes the distance itself unless
    told otherwise.
    """

    def __init__(self, shape: Shape, *, log_distance: bool = True) -> None:
        super().__init__(shape)
        self.log_distance = log_distance
        width = max(1, shape.width // 4)
        self.f = nn.Sequential(
            nn.Linear(1, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, shape.heads, bias=False),
        )

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        x = i - j
        if self.log_distance:
            x = x.sign() * x.abs().log1p()
        return self.f(x[..., None].to(self.dtype)).permute(0, 3, 1, 2)
