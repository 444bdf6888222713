"""One learned vector for every position, added to the token embeddings.

    x + table[id]

Gehring et al., arXiv 1705.03122; Devlin et al., arXiv 1810.04805. Past the trained length rows stay
as they were drawn, up to the table's end. `past_end` says what happens to ids beyond that:

- `error`: they are refused.
- `clamp`: they all take the last row, and so look alike.
- `interpolate`: the ids of a sequence that does not fit are squeezed until the largest falls on
  the last row, and a place between two rows takes a mixture of both. Every row then depends on the
  largest id, so in a decoder earlier tokens change when later ones are added: results hold for the
  full length, and generating token by token differs. After Dosovitskiy et al., arXiv 2010.11929.
  As in `positions=interpolated`, and unlike in `rope_linear`, the factor follows each length.
"""

import torch
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError, check_choice
from posenc.shapes import Shape

POLICIES = ("error", "clamp", "interpolate")


class Learned(Encoding):
    """A table of `max_length` rows.

    Rows start with a mean square of 1/2, that of a sinusoidal row, so that learned and fixed
    positions enter training equally loud. Real ids are taken where rows are interpolated.

    Raises ConfigError for a table without rows and an unknown policy, and, under `error`, for an
    id past its end on the CPU, where this costs nothing. Elsewhere looking at ids would stall the
    device: compare `max_length` with the positions' `bound` beforehand.
    """

    def __init__(self, shape: Shape, *, max_length: int = 512, past_end: str = "error") -> None:
        super().__init__(shape)
        if max_length < 1:
            raise ConfigError(f"encoding.max_length={max_length}: must be at least 1")
        self.max_length = max_length if past_end == "error" else None
        self.real_ids = past_end == "interpolate"
        self.last = max_length - 1
        self.past_end = check_choice("encoding.past_end", past_end, POLICIES)
        self.table = nn.Embedding(max_length, shape.width)
        nn.init.normal_(self.table.weight, std=0.5**0.5)

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + self.rows(ids)

    def rows(self, ids: Tensor) -> Tensor:
        """(1 or B, T) -> (1 or B, T, D): what `embed` adds."""
        if self.past_end == "interpolate":
            return self._between_rows(ids)
        if self.past_end == "clamp":
            return self.table(ids.clamp(max=self.last))
        try:
            return self.table(ids)
        except IndexError as error:
            raise ConfigError(
                f"encoding.max_length={self.max_length} has no row for position {int(ids.max())}: "
                "enlarge the table or shorten the sequences"
            ) from error

    def _between_rows(self, ids: Tensor) -> Tensor:
        largest = ids.amax(dim=-1, keepdim=True).clamp(min=max(self.last, 1))
        place = ids.double() * self.last / largest
        row = place.long()
        above = (place - row)[..., None].to(self.table.weight.dtype)
        return torch.lerp(self.table(row), self.table((row + 1).clamp(max=self.last)), above)
