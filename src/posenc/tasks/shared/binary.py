"""Binary numbers of any size: drawing them, and reckoning with them exactly."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LIMB = 32
"""Bits that are turned into a number at once."""


def positive(sizes: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """(...) sizes up to the width -> (..., width) bits of numbers, least significant first.

    A number of b bits is uniform over 1 ... 2^b - 1. Its highest one is followed by uniform bits;
    and it has z zeros or more before that one with probability (2^(b-z) - 1) / (2^b - 1).
    """
    device = generator.device
    share = torch.rand(sizes.shape, generator=generator, dtype=torch.float64, device=device)
    zeros = (1 - share * (1 - torch.pow(0.5, sizes.double()))).log2().neg().long()
    highest = (sizes - 1 - zeros.minimum(sizes - 1))[..., None]
    bits = torch.randint(2, (*sizes.shape, width), generator=generator, device=device)
    place = torch.arange(width, device=device)
    return bits.where(place < highest, (place == highest).long())


def numbers(bits: Tensor) -> NDArray[np.object_]:
    """(n,L) bits, least significant first -> (n,) Python integers."""
    rows, width = bits.shape
    limbs = torch.nn.functional.pad(bits, (0, -width % LIMB)).view(rows, -1, LIMB)
    weights = 2 ** torch.arange(LIMB, device=bits.device)
    columns = list((limbs * weights).sum(dim=2).T.cpu().numpy().astype(object))
    total: NDArray[np.object_] = columns[-1]
    for column in columns[-2::-1]:
        total = (total << LIMB) + column
    return total


def bits_of(numbers: NDArray[np.object_], width: int) -> Tensor:
    """(n,) Python integers below 2^width -> (n,width) bits, least significant first."""
    limbs = [(numbers >> start) % 2**LIMB for start in range(0, width, LIMB)]
    columns = torch.from_numpy(np.stack(limbs, axis=1).astype(np.int64))
    return (columns[..., None] >> torch.arange(LIMB) & 1).flatten(1)[:, :width]


def roots(numbers: NDArray[np.object_]) -> NDArray[np.object_]:
    """(n,) Python integers -> (n,) their square roots, rounded down."""
    return np.asarray(np.frompyfunc(math.isqrt, 1, 1)(numbers), dtype=object)
