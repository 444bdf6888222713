"""Associative recall: pairs of a key and a value, then a key; put out its value."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.recall import all_different, keys_and_values
from posenc.tasks.shared.strings import rearrange


class AssociativeRecall(Task):
    """K pairs of a key and a value in, then one of the keys; out comes the value of that key.

        prompt  k3 v7 k0 v2 k9 v4 k0
        answer  v2

    Length is that of the prompt, 2K + 1, so it is odd. Order matters: it tells which value belongs
    to which key. Half of the symbols are keys and half are values; either are drawn uniformly
    without replacement, and the key that is asked for is any of the K. Ba et al. 2016
    (arXiv:1610.06258) ask for one key behind letters with digits, in which digits may repeat; keys
    and values that do not are those of Arora et al. 2023 (arXiv:2312.04927), who ask for all keys:
    see mqar.
    """

    minimum = 3

    def __init__(self, *, symbols: int = 512) -> None:
        self.vocabulary = keys_and_values(symbols)
        self.half = symbols // 2

    def lengths(self, low: int, high: int) -> list[int]:
        """The odd ones. Raises ConfigError where there are fewer keys than pairs at `high`."""
        legal = [length for length in super().lengths(low, high) if length % 2]
        if legal:
            self._check(legal[-1])
        return legal

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for an even length, and where there are fewer keys than pairs."""
        self._check(length)
        pairs = length // 2
        keys = all_different(n, pairs, self.half, generator)
        values = all_different(n, pairs, self.half, generator) + self.half
        asked = torch.randint(pairs, (n, 1), generator=generator, device=generator.device)
        told = torch.stack([keys, values], dim=2).flatten(1)
        return Sample(torch.cat([told, keys.gather(1, asked)], dim=1), values.gather(1, asked))

    def _check(self, length: int) -> None:
        if length < self.minimum or length % 2 == 0:
            raise ConfigError(f"length {length}: associative_recall has odd lengths, from 3 on")
        if length // 2 > self.half:
            raise ConfigError(
                f"task.symbols={2 * self.half}: too few for {length // 2} different keys; set "
                f"task.symbols={length - 1} or more, or length.test={2 * self.half + 1} or less"
            )

    def solve(self, prompt: list[int]) -> list[int]:
        keys, values = prompt[:-1:2], prompt[1::2]
        alternate = all(key < self.half for key in keys) and min(values, default=0) >= self.half
        once = len(set(keys)) == len(keys) == len(values) == len(set(values))
        if not alternate or not once or keys.count(prompt[-1]) != 1:
            raise ValueError("the prompt is not different keys with different values and a key")
        return [dict(zip(keys, values, strict=True))[prompt[-1]]]

    def chance(self, length: int) -> Chance:
        """The bag tells which K values there are, and each is as likely to be the answer: 1 / K."""
        return Chance(2 / (length - 1), 2 / (length - 1))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Keys stay, values change places."""
        reordered = prompt.clone()
        reordered[1::2] = rearrange(prompt[1::2], generator)
        return reordered
