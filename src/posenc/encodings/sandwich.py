"""Sandwich: the inner product of two sinusoids as a fixed bias, flatter from head to head.

    bias(i, j) = sum over k = 1 .. D/2 of (cos((i - j) / 10000^(2k/D)) - 1) / (8h/H),  h = 1 .. H

Chi et al., arXiv 2212.10356, who define it for a causal decoder. The -1 is not theirs: it takes
the same off every logit of a row, which attention cannot see, and leaves 0 for a token itself,
where low precision is finest. It falls with the distance, but not steadily. The bias is even in
i - j, so that in an encoder, which is our reading, mirror images look alike. Past the trained
length it falls ever more slowly, down to about -D/2 / (8h/H), and nothing in it was learned.
"""

import torch
from torch import Tensor

from posenc.encodings.pairwise import PairwiseBias
from posenc.errors import ConfigError
from posenc.shapes import Shape


class Sandwich(PairwiseBias):
    """Adds a bias without parameters, the same in every layer.

    `dimension` is D, 128 as published, whatever the width of the model.

    Raises ConfigError unless it is even and at least 2.
    """

    flatness: Tensor

    def __init__(self, shape: Shape, *, dimension: int = 128) -> None:
        super().__init__(shape)
        if dimension < 2 or dimension % 2:
            raise ConfigError(f"encoding.dimension={dimension}: must be even and at least 2")
        self.dimension = dimension
        flatness = 8 * torch.arange(1, shape.heads + 1) / shape.heads
        self.register_buffer("flatness", flatness, persistent=False)  # (H,)

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        # A product of sinusoids, as in the paper, instead of a cosine for each pair and k.
        product = self._sinusoid(i) @ self._sinusoid(j.mT).mT
        return (product - self.dimension / 2)[:, None] / self.flatness[:, None, None]

    def _sinusoid(self, ids: Tensor) -> Tensor:
        """(1 or B, T, 1) -> (1 or B, T, D) float64, because a phase in float32 is too coarse."""
        k = torch.arange(1, self.dimension // 2 + 1, dtype=torch.float64, device=ids.device)
        phases = ids * 10000 ** (-2 * k / self.dimension)
        return torch.cat([phases.sin(), phases.cos()], dim=-1)
