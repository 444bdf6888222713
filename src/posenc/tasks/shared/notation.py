"""How numbers are written: digits in one order or the other, with or without markers of weight."""

from typing import NamedTuple

import torch
from torch import Tensor

MARKERS = 102
"""Symbols that mark the weights of digits, as many as McLeish et al. 2024 have."""


class Notation(NamedTuple):
    """Digits, least significant first, to tokens in reading order.

    Weights count from 0. `start` is the marker, 0 ... MARKERS - 1, of weight 0.
    """

    marker: int | None
    """Token of the first marker; None where nothing marks a digit."""

    @property
    def step(self) -> int:
        """Tokens of a digit."""
        return 1 if self.marker is None else 2

    def weights(self, size: int, is_reversed: bool) -> Tensor:
        """Of a number's digits, in reading order."""
        weights = torch.arange(size)
        return weights if is_reversed else weights.flip(0)

    def written(self, digits: Tensor, weights: Tensor, start: Tensor) -> Tensor:
        """(n,L) digits, (L,) or (n,L) weights in reading order, (1 or n, 1) -> (n, L * step)."""
        weights = weights.to(digits.device)
        read = digits.gather(1, weights.expand_as(digits))
        if self.marker is None:
            return read
        markers = self.marker + (start + weights) % MARKERS
        return torch.stack([markers.expand_as(read), read], dim=2).flatten(1)

    def spelled(self, digits: list[int], start: int, is_reversed: bool) -> list[int]:
        """The same, slowly, of a single number."""
        words = [
            [digit] if self.marker is None else [self.marker + (start + weight) % MARKERS, digit]
            for weight, digit in enumerate(digits)
        ]
        return [token for word in words[:: 1 if is_reversed else -1] for token in word]

    def read(self, tokens: list[int], is_reversed: bool) -> tuple[list[int], int]:
        """-> what should be digits, and the start; to be spelled again, as a check."""
        turn, first = (1, tokens[:1]) if is_reversed else (-1, tokens[-2:-1])
        start = first[0] - self.marker if first and self.marker is not None else 0
        return tokens[self.step - 1 :: self.step][::turn], start

    def spread(self, ids: Tensor) -> Tensor:
        """(L,) ids of digits -> (L * step,), with 0 for markers."""
        return torch.stack([torch.zeros_like(ids), ids], dim=1)[:, -self.step :].flatten()
