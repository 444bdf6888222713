"""One seed, many named streams of random numbers, none of them global.

A stream is addressed, never advanced: what batch 7 holds depends on (seed, name, 7) alone, so no
generator state is ever saved, and neither workers nor a restart can change a draw.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream_seed(seed: int, stream: str, *index: int) -> int:
    """A 63-bit number that is a pure function of the seed, the stream's name and the index.

    PyTorch's CPU generator uses 32 bits of it: among 100,000 streams about one equals another.
    """
    address = "/".join([str(seed), stream, *map(str, index)])
    digest = hashlib.blake2b(address.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def generator(seed: int, stream: str, *index: int) -> torch.Generator:
    """A fresh CPU generator that stands at the start of the addressed stream."""
    return torch.Generator().manual_seed(stream_seed(seed, stream, *index))


@contextmanager
def initialisation(seed: int, stream: str) -> Iterator[None]:
    """Inside, PyTorch's own initialisers draw from the addressed stream; outside, none do."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(stream_seed(seed, stream))
        yield
