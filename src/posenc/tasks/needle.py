"""Needle: a key and its value in a haystack of other keys and values; put out the value."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.recall import keys_and_values
from posenc.tasks.shared.strings import rearrange, symbol_chance


class Needle(Task):
    """Noise with one key and its value in it, and that key again, in; out comes the value.

        prompt  v3 k7 v3 k1 v9 k5 v2 k1
        answer  v9

    Length counts the tokens of the prompt. Order matters. Unlike in associative_recall, which is
    nothing but pairs at fixed places, the pair may stand anywhere and the noise around it has no
    order: half of it, rounded down, are values and the others are keys, in random order. Unlike in
    induction, the token to look for is another one in every prompt, and never among the noise, all
    keys of which differ from it. All draws are uniform, with replacement.

    Looking for one fact in unrelated text is a test of language models, as in Mohtashami & Jaggi
    2023 (arXiv:2305.16300) and Hsieh et al. 2024 (arXiv:2404.06654); these symbols are this
    project's own.
    """

    minimum = 3

    def __init__(self, *, symbols: int = 32) -> None:
        self.vocabulary = keys_and_values(symbols)
        self.half = symbols // 2

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where the pair and the key have no room."""
        if length < self.minimum:
            raise ConfigError(f"length {length}: a prompt of needle has at least 3 tokens")
        device, noise = generator.device, length - 3
        drawn = torch.randint(self.half, (n, length), generator=generator, device=device)
        needle, place = (
            torch.randint(below, (n, 1), generator=generator, device=device)
            for below in (self.half, length - 2)
        )
        other = torch.randint(1, self.half, (n, length), generator=generator, device=device)
        keys = (needle + other) % self.half

        # Noise token t stands at place t, or two further on where that is behind the pair.
        order = torch.rand(n, noise, generator=generator, device=device).argsort(dim=1)
        behind = torch.arange(noise, device=device) >= place
        slots = torch.arange(noise, device=device) + 2 * behind
        value = torch.ones(n, length, dtype=torch.bool, device=device)
        value.scatter_(1, slots, order < noise // 2)
        prompt = torch.where(value, drawn + self.half, keys)
        prompt.scatter_(1, place, needle)
        prompt[:, -1:] = needle
        return Sample(prompt, prompt.gather(1, place + 1))

    def solve(self, prompt: list[int]) -> list[int]:
        key = prompt[-1] if prompt else self.half
        if key >= self.half or prompt.count(key) != 2:
            raise ValueError("the prompt does not end with a key that it holds once before")
        value = prompt[prompt.index(key) + 1]
        if value < self.half:
            raise ValueError("no value follows the key that the prompt ends with")
        return [value]

    def chance(self, length: int) -> Chance:
        """See `symbol_chance`: any of the values may be the one behind the key."""
        return symbol_chance(1 + (length - 3) // 2, self.half)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Keys stay, values change places."""
        value = prompt >= self.half
        reordered = prompt.clone()
        reordered[value] = rearrange(prompt[value], generator)
        return reordered
