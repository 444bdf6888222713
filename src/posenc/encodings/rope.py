"""Rotary position embedding: queries and keys are turned by angles that grow with the position.

    logit(i, j) = R(i) q_i . R(j) k_j / sqrt(K),  R(id) turns pair c by id * base^(-2c/K)

So a logit depends on content and on the difference of the two ids alone. Su et al., arXiv
2104.09864. Past the trained length angles go on, but slow pairs reach differences in angle that
were never trained.

Pairs are (c, c + K/2), the half-split layout of Llama; the paper pairs neighbours (2c, 2c + 1), the
same up to a fixed permutation of the channels. Weights do not carry over from one to the other.
"""

import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.encodings.frequencies import check_base, geometric
from posenc.errors import ConfigError
from posenc.shapes import Shape

Turn = tuple[Tensor, Tensor]
"""Cosines, and sines that are negative in the first half: each (1 or B, 1, T, K) float64."""


class RoPE(Encoding):
    """Turns queries and keys in every layer, leaving values and norms alone.

    Raises ConfigError where heads have an odd width, or unless `base` is positive.
    """

    def __init__(self, shape: Shape, *, base: float = 10000.0) -> None:
        super().__init__(shape)
        if shape.head_width % 2:
            raise ConfigError(
                f"model.width={shape.width} with model.heads={shape.heads} gives heads of "
                f"{shape.head_width} channels, which rotations cannot pair: make that number even"
            )
        self.base = check_base(base)

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Turn, Turn]:
        return self.turn(query_ids), self.turn(key_ids)

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Turn, Turn]) -> tuple[Tensor, Tensor]:
        query_turn, key_turn = tables
        return rotated(q, query_turn), rotated(k, key_turn)

    def turn(self, ids: Tensor) -> Turn:
        """What turns the vectors of tokens with these (1 or B, T) ids."""
        angles = ids[:, None, :, None] * self.frequencies(ids.device)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)

    def frequencies(self, device: torch.device) -> Tensor:
        """(K/2,) float64: the radians by which a step of one position turns each pair."""
        return geometric(self.shape.head_width, self.base, device)


def rotated(x: Tensor, turn: Turn) -> Tensor:
    """(B,H,T,K) -> (B,H,T,K): every pair (c, c + K/2) turned by its angle."""
    cos, sin = (table.to(x.dtype) for table in turn)
    return x * cos + x.roll(x.shape[-1] // 2, dims=-1) * sin
