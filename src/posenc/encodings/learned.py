"""One learned vector for every position, added to the token embeddings.

Gehring et al., arXiv 1705.03122; Devlin et al., arXiv 1810.04805. The table ends: there is nothing
past its last row, and rows past the trained length stay as they were drawn.
"""

from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape


class Learned(Encoding):
    """A table of `max_length` rows.

    Rows start with a mean square of 1/2, that of a sinusoidal row, so that learned and fixed
    positions enter training equally loud.

    Raises ConfigError for a table without rows, and for an id past its end on the CPU, where this
    costs nothing. Elsewhere looking at ids would stall the device: compare `max_length` with the
    positions' `bound` beforehand.
    """

    def __init__(self, shape: Shape, *, max_length: int = 512) -> None:
        super().__init__(shape)
        if max_length < 1:
            raise ConfigError(f"encoding.max_length={max_length}: must be at least 1")
        self.max_length = max_length
        self.table = nn.Embedding(max_length, shape.width)
        nn.init.normal_(self.table.weight, std=0.5**0.5)

    def embed(self, x: Tensor, ids: Tensor) -> Tensor:
        try:
            rows = self.table(ids)
        except IndexError as error:
            raise ConfigError(
                f"encoding.max_length={self.max_length} has no row for position {int(ids.max())}: "
                "enlarge the table or shorten the sequences"
            ) from error
        return x + rows
