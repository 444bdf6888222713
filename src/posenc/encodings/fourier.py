"""Learned Fourier features of the position, passed through a small network and added.

    r(id) = [cos(id w), sin(id w)] / sqrt(D),  w of D/2 learned frequencies
    x + W2 gelu(W1 r(id) + b1) + b2

Li et al., arXiv 2106.02795, for coordinates in a plane. They write w ~ N(0, gamma^-2), read here as
a variance: a spread of 1/gamma. The published port on PyPI takes gamma^-2 for the spread. Past the
trained length the small network meets combinations of phases that it was never trained on.

An id counts as it is, not as a share of the length, which would change as a text grows.
"""

import math

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape

HIDDEN = 32
"""Channels of the hidden layer, as published."""


class LearnableFourierFeatures(Encoding):
    """Frequencies start with a spread of 1/`gamma` radians a step, both maps as in torch.nn.Linear.

    Raises ConfigError unless `gamma` is positive.
    """

    def __init__(self, shape: Shape, *, gamma: float = 10.0) -> None:
        super().__init__(shape)
        if not 0 < gamma < math.inf:
            raise ConfigError(f"encoding.gamma={gamma}: must be positive, 10 is usual")
        pairs = (shape.width + 1) // 2
        self.frequencies = nn.Parameter(torch.randn(pairs) / gamma)
        self.network = nn.Sequential(
            nn.Linear(2 * pairs, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, shape.width)
        )

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        phases = ids[..., None].double() * self.frequencies  # in float32 a distant id loses its own
        waves = torch.cat([phases.cos(), phases.sin()], dim=-1) / (2 * len(self.frequencies)) ** 0.5
        return x + self.network(waves.to(self.frequencies.dtype)).to(x.dtype)
