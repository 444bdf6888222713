"""Digits of sums."""

import torch
from torch import Tensor


def carried(sums: Tensor, base: int) -> Tensor:
    """(n,L) sums of two digits -> (n,L+1) digits of the whole, least significant first in both.

    A place hands on a carry if it sums to `base` or more, and what it was handed if it sums to
    `base` - 1. So a carry is made at the last place below that sums to anything else.
    """
    place = torch.arange(1, sums.shape[1] + 1, device=sums.device)
    maker = torch.where(sums == base - 1, 0, place).cummax(dim=1).values
    nothing = torch.zeros_like(sums[:, :1])
    carries = torch.cat([nothing, (sums >= base).long()], dim=1).gather(1, maker)
    return (torch.cat([sums, nothing], dim=1) + torch.cat([nothing, carries], dim=1)) % base
