"""Partial rotary embedding: RoPE on the first channels of a head, the rest compare content alone.

    logit(i, j) = (R(i) q_i[:r] . R(j) k_j[:r] + q_i[r:] . k_j[r:]) / sqrt(K),  r = fraction * K

Black et al., arXiv 2204.06745 (GPT-NeoX), with RoPE's frequencies for heads of r channels. Past the
trained length it fares as RoPE does on its first channels, and nothing new appears on the others.
"""

from dataclasses import replace

import torch
from torch import Tensor

from posenc.encodings.base import Encoding
from posenc.encodings.rope import RoPE, Turn
from posenc.errors import ConfigError
from posenc.shapes import Shape


class PartialRoPE(Encoding):
    """Turns a `fraction` of the channels of queries and keys in every layer.

    Raises ConfigError unless that is an even number of at least 2, and unless `base` is positive.
    """

    def __init__(self, shape: Shape, *, fraction: float = 0.25, base: float = 10000.0) -> None:
        super().__init__(shape)
        wanted = fraction * shape.head_width
        even = (2 * pair for pair in range(1, shape.head_width // 2 + 1))
        fitting = [channels for channels in even if abs(channels - wanted) < 1e-9]
        if not fitting:
            raise ConfigError(
                f"encoding.fraction={fraction}: would turn {wanted:g} of the {shape.head_width} "
                "channels of a head; must be an even number of them, at least 2"
            )
        self.turning = fitting[0]
        self.rope = RoPE(replace(shape, width=self.turning * shape.heads), base=base)

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> tuple[Turn, Turn]:
        return self.rope.prepare(query_ids, key_ids)

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Turn, Turn]) -> tuple[Tensor, Tensor]:
        turning = slice(self.turning)
        still = slice(self.turning, None)
        turned_q, turned_k = self.rope.rotate(q[..., turning], k[..., turning], tables)
        return (
            torch.cat([turned_q, q[..., still]], dim=-1),
            torch.cat([turned_k, k[..., still]], dim=-1),
        )
