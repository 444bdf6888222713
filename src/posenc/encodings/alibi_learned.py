"""ALiBi whose slopes are learned, one for each head.

    bias(i, j) = -exp(s) * |i - j|,  exp(s) starts as the head's slope in ALiBi

Press et al., arXiv 2108.12409, tried trainable slopes and kept fixed ones. They give no formula;
exp(s), which lets a slope shrink towards zero and never turn into a reward for distance, is that
of x-transformers. As in ALiBi, both directions weigh the same, so that in an encoder mirror images
look alike. Past the trained length the penalty goes on growing at the learned rate.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.alibi import linear, slopes_of
from posenc.encodings.pairwise import PairwiseBias
from posenc.shapes import Shape


class LearnedALiBi(PairwiseBias):
    """Adds a bias with one parameter for each head, shared by all layers."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.log_slopes = nn.Parameter(torch.tensor(slopes_of(shape.heads)).log())

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        return linear(self.log_slopes.exp(), i, j)
