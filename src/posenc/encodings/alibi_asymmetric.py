"""ALiBi that tells left from right: keys behind the query are half a step nearer than keys ahead.

    bias(i, j) = -slope * (i - j - 1/2)  for j < i
    bias(i, j) = -slope * (j - i)        for j >= i

The form that Ruoss et al., arXiv 2305.16843, give ALiBi in their encoders; their code calls the
half arbitrary, it only has to break the symmetry. A decoder sees nothing ahead: there the token
itself weighs half a slope less, against all that is behind, than in plain ALiBi. Past the trained
length the penalty only grows, which narrows what a head sees.
"""

from torch import Tensor

from posenc.encodings.alibi import ALiBi


class AsymmetricALiBi(ALiBi):
    """Adds a bias without parameters, with the slopes of ALiBi."""

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        return super().between(i, j) + 0.5 * self.slopes[:, None, None] * (j < i)[:, None]
