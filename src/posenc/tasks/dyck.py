"""Dyck language: does every bracket close the one that was opened last?"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.brackets import brackets, depths, open_ends, typed
from posenc.tasks.shared.strings import rearrange


class Dyck(Task):
    """n brackets of k types in, `valid` or `invalid` out; length counts the brackets.

        prompt  ( [ ( ) ( ] ) )
        answer  invalid

    n is even. Order matters. Half of the strings are valid: all balanced shapes are as likely, and
    each pair of brackets is of any type, 2 types by default. The others are such strings in which
    two brackets have changed places, so the bag of brackets tells nothing. One of the two is any
    that closes. With probability one half, if there is one, the other is any that closes and is of
    another type: then only a comparison of types finds the fault. Else it is any that opens, not
    behind the last place before the closing one at which no more than one bracket is open: then
    somewhere more are closed than were opened.

    Hahn 2020 (arXiv:1906.06755) shows what a Transformer cannot recognise of this language as
    strings grow; how the invalid ones are drawn is this project's own.
    """

    minimum = 2

    def __init__(self, *, types: int = 2) -> None:
        self.vocabulary = brackets(types, "valid", "invalid")
        self.types = types
        self.valid, self.invalid = 2 * types, 2 * types + 1

    def lengths(self, low: int, high: int) -> list[int]:
        """The even ones."""
        return [length for length in super().lengths(low, high) if length % 2 == 0]

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for an odd length."""
        if length < self.minimum or length % 2:
            raise ConfigError(f"length {length}: dyck has even lengths")
        word = typed(balanced(n, length // 2, generator), self.types, generator)
        coins = torch.randint(2, (2, n, 1), generator=generator, device=generator.device)
        places = self._breaking(word, coins[0] > 0, generator)
        broken = word.scatter(1, places, word.gather(1, places.flip(1)))
        return Sample(broken.where(coins[1] > 0, word), self.valid + coins[1])

    def _breaking(self, word: Tensor, compared: Tensor, generator: torch.Generator) -> Tensor:
        """(n,P) valid strings -> (n,2) places whose brackets, exchanged, make them invalid.

        Where (n,1) `compared` says so, and it can be, by types alone.
        """
        opens, place = word < self.types, torch.arange(word.shape[1], device=word.device)
        noise = 1 + torch.rand(word.shape, generator=generator, device=word.device)
        first = noise.where(~opens, 0).argmax(dim=1, keepdim=True)
        other_type = ~opens & (word != word.gather(1, first))
        compared = compared & other_type.any(dim=1, keepdim=True)

        shallow = (depths(opens) <= 1) & (place < first)
        last = (shallow * place).amax(dim=1, keepdim=True)
        second = torch.where(compared, other_type, opens & (place <= last))
        return torch.cat([first, noise.where(second, 0).argmax(dim=1, keepdim=True)], dim=1)

    def solve(self, prompt: list[int]) -> list[int]:
        count = [prompt.count(token) for token in range(self.valid)]
        even = count[: self.types] == count[self.types :]
        if not prompt or max(prompt) >= self.valid or not even:
            raise ValueError("the prompt is not brackets, of each type as many that open as close")
        return [self.valid if open_ends(prompt, self.types) == [] else self.invalid]

    def chance(self, length: int) -> Chance:
        """One half: the bag of an invalid string is that of the valid one it was made from."""
        return Chance(0.5, 0.5)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)


def balanced(rows: int, pairs: int, generator: torch.Generator) -> Tensor:
    """(rows, 2 pairs) bool, whether a bracket opens: uniform among all balanced strings.

    Of the 2m + 1 rotations of m steps up and m + 1 steps down, exactly one keeps at 0 or above
    until its last step: that which begins where the lowest point is first reached (the cycle
    lemma). Without the last step it is a balanced string.
    """
    steps = 2 * pairs + 1
    luck = torch.rand(rows, steps, generator=generator, device=generator.device)
    up = luck.argsort(dim=1) < pairs
    lowest = (2 * up.long() - 1).cumsum(dim=1).argmin(dim=1, keepdim=True)
    source = (lowest + torch.arange(1, steps, device=up.device)) % steps
    return up.gather(1, source)
