"""Repeat one token: put out as many as came in."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import numbered


class RepeatToken(Task):
    """One symbol n times in, the same n tokens out; length counts the tokens of the prompt.

        prompt  9 9 9 9
        answer  9 9 9 9

    Order does not matter: a prompt has no second order, and one glance at any place tells the whole
    answer. So it is a control that tests coping with the length alone. The symbol is uniform over
    100 by default: Kazemnejad et al. 2023 (arXiv:2305.19466).
    """

    order_matters = False
    times = 1
    """Answer tokens for each token of the prompt."""

    def __init__(self, *, symbols: int = 100) -> None:
        self.vocabulary = numbered(symbols)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        symbol = torch.randint(
            len(self.vocabulary), (n, 1), generator=generator, device=generator.device
        )
        return Sample(symbol.repeat(1, length), symbol.repeat(1, self.times * length))

    def solve(self, prompt: list[int]) -> list[int]:
        if len(set(prompt)) != 1:
            raise ValueError("the prompt is not one token, repeated")
        return [prompt[0] for _ in range(self.times * len(prompt))]

    def chance(self, length: int) -> Chance:
        """From the length alone every symbol is as likely, and all tokens are right or none."""
        return Chance(1 / len(self.vocabulary), 1 / len(self.vocabulary))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """The prompt itself, which has no other order."""
        return prompt.clone()
