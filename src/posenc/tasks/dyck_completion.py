"""Dyck completion: close all brackets that are open."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.brackets import brackets, depths, open_ends, typed
from posenc.tasks.shared.strings import arrangement_chance, ended, rearrange

SELDOM = 1e-9
"""Depths less probable than this count as none."""


class DyckCompletion(Task):
    """n brackets of k types in; out come those that close all that are open, and `end`.

        prompt  ( [ ] { ( )
        answer  } ) end

    Length counts the brackets of the prompt. Order matters. The first bracket opens, and so does
    each where none is open; any other opens or closes with probability one half each. Types are
    uniform, 4 by default, and a bracket closes the one that was opened last. So about sqrt(2n / pi)
    brackets are open at the end, and the answer has n + 1 places, as many as there may ever be.
    Completing strings of brackets is a task of BIG-bench, Srivastava et al. 2022
    (arXiv:2206.04615); how these are drawn is this project's own.
    """

    def __init__(self, *, types: int = 4) -> None:
        self.vocabulary = brackets(types, "end", least=2)
        self.types = types
        self.end = 2 * types

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for a length below 1."""
        if length < 1:
            raise ConfigError(f"length {length}: dyck_completion has at least one bracket")
        # |W| of a fair walk W goes up from 0 always, and up or down alike from anywhere else.
        coin = torch.randint(2, (n, length), generator=generator, device=generator.device)
        depth = (2 * coin - 1).cumsum(dim=1).abs()
        opens = depth.diff(dim=1, prepend=depth.new_zeros(n, 1)) > 0
        prompt = typed(opens, self.types, generator)

        final = depth[:, -1]
        stays = opens & (depth.flip(1).cummin(dim=1).values.flip(1) >= depth)
        slot = torch.where(stays, final[:, None] - depth, length)  # the last one is never read
        closing = prompt.new_zeros(n, length + 1).scatter_(1, slot, prompt + self.types)
        answer, scored = ended(closing, final, self.end)
        return Sample(prompt, answer, scored=scored)

    def solve(self, prompt: list[int]) -> list[int]:
        stack = open_ends(prompt, self.types)
        if not prompt or max(prompt) >= self.end or stack is None:
            raise ValueError("the prompt is not brackets that can all be closed")
        return [kind + self.types for kind in reversed(stack)] + [self.end]

    def room(self, prompt: list[int]) -> int:
        """One place more than the prompt has brackets."""
        return len(prompt) + 1

    def chance(self, length: int) -> Chance:
        """The bag tells which types are open, hence where the answer ends, but not their order.

        All orders of those types are as likely: see `arrangement_chance`. Summed over their number.
        """
        exact = token = mean = 0.0
        for depth in range(length % 2, length + 1, 2):
            walks = math.comb(length, (length + depth) // 2) * (2 if depth else 1)
            probability = walks / 2**length
            if probability > SELDOM:
                order = arrangement_chance(depth, self.types) if depth else Chance(1.0, 1.0)
                exact += probability * order.exact
                token += probability * (depth * order.token + 1)
                mean += probability * (depth + 1)
        return Chance(exact, token / mean)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """The brackets that stay open change places among each other."""
        opens = prompt < self.types
        depth = depths(opens)
        stays = opens & (depth.flip(0).cummin(dim=0).values.flip(0) >= depth)
        reordered = prompt.clone()
        reordered[stays] = rearrange(prompt[stays], generator)
        return reordered
