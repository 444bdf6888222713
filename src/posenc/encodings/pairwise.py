"""What biases computed from the two ids of a pair have in common; each formula is an encoding."""

from itertools import chain

import torch
from torch import Tensor

from posenc.encodings.base import Encoding


class PairwiseBias(Encoding):
    """Adds b(i, j) to the logit of a query with id i and a key with id j."""

    def between(self, i: Tensor, j: Tensor) -> Tensor:
        """b(i, j): (1 or B, Q, 1) query ids, (1 or B, 1, T) key ids -> (1 or B, H, Q, T).

        Ids come as float32 or better: bfloat16 cannot tell 256 from 257. Only the result is rounded
        to the dtype of the network.
        """
        raise NotImplementedError

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        exact = torch.promote_types(self.dtype, torch.float32)
        i, j = query_ids[:, :, None].to(exact), key_ids[:, None, :].to(exact)
        with torch.autocast(i.device.type, enabled=False):
            return self.between(i, j).to(self.dtype)

    def bias(self, tables: Tensor) -> Tensor:
        return tables

    @property
    def dtype(self) -> torch.dtype:
        """That of the network."""
        return next(chain(self.parameters(), self.buffers())).dtype
