"""Cycle navigation: put out where steps around a ring of five places end."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import rearrange

PLACES = 5
STEPS = {"-1": -1, "+0": 0, "+1": 1}


class CycleNavigation(Task):
    """n steps in, the place that they lead to from 0 out; length counts the steps.

        prompt  +1 +1 -1 +0 +1
        answer  2

    That is the sum of the steps modulo 5. Order does not matter: it is a control, hard for another
    reason than order. Steps are independent and uniform: Delétang et al. 2022 (arXiv:2207.02098),
    Ruoss et al. 2023 (arXiv:2305.16843), who train on up to 40 steps and test on up to 500.
    """

    order_matters = False
    vocabulary = Vocabulary([*map(str, range(PLACES)), *STEPS])

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        steps = torch.randint(-1, 2, (n, length), generator=generator, device=generator.device)
        return Sample(steps + PLACES + 1, steps.sum(dim=1, keepdim=True) % PLACES)

    def solve(self, prompt: list[int]) -> list[int]:
        place = 0
        for token in prompt:
            symbol = self.vocabulary.symbols[token]
            if symbol not in STEPS:
                raise ValueError(f"the prompt holds {symbol}, which is no step")
            place = (place + STEPS[symbol]) % PLACES
        return [place]

    def chance(self, length: int) -> Chance:
        """The likeliest place, from the number of ways to each, one step after the other."""
        ways = [1] + [0] * (PLACES - 1)
        for _ in range(length):
            ways = [
                ways[place - 1] + ways[place] + ways[(place + 1) % PLACES]
                for place in range(PLACES)
            ]
        return Chance(max(ways) / 3**length, max(ways) / 3**length)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
