"""Position interpolation: a sequence longer than any trained one is squeezed into their range.

    id(i) = i * trained_length / T  where T > trained_length, else i

Chen et al., arXiv 2306.15595, who train on a little longer text after it; here nothing is trained
again. Ids depend on the number of tokens, prompt and answer together, which is known beforehand.
So every length has a factor of its own, as under `past_end=interpolate` of `learned`, while
`encoding=rope_linear` has one for all.
"""

import torch
from torch import Tensor

from posenc.errors import at_least_one
from posenc.positions.base import Positions, Slots, index


class Interpolated(Positions):
    """0 to T-1 in training, and no id of `trained_length` or above in evaluation.

    `trained_length`, in tokens, is what the run trains on at most where nothing else is said; None
    stands for 20 outside a run.

    Raises ConfigError unless `trained_length` is a whole number of at least 1, or None.
    """

    real = True

    def __init__(self, *, trained_length: int | None = None) -> None:
        self.trained_length = at_least_one(
            "positions.trained_length", trained_length, alone=20, whole=True
        )

    def bound(self, slots: Slots) -> int:
        return slots.tokens

    def bound_at_eval(self, slots: Slots) -> int:
        return min(slots.tokens, self.trained_length)

    def train(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return index(slots).double()

    def evaluate(self, slots: Slots, generator: torch.Generator) -> Tensor:
        return index(slots).double() * min(1.0, self.trained_length / slots.tokens)
