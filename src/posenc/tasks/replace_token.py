"""Replace one token by another, as the prompt names them, as often as the one is there."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import numbered


class ReplaceToken(Task):
    """Symbols a and b, then a n times, in; b n times out; length counts the answer's tokens.

        prompt  9 4 9 9 9
        answer  4 4 4

    Order does not matter: b is the symbol that the prompt holds once, a the one that it holds n + 1
    times, and a prompt has no second order. So it is a control that tests coping with the length,
    although a network may learn to look at the second place. The pair is uniform over pairs of
    different symbols, out of 100 by default: Kazemnejad et al. 2023 (arXiv:2305.19466), who train
    on up to 20 tokens and test on up to 40.
    """

    order_matters = False

    def __init__(self, *, symbols: int = 100) -> None:
        self.vocabulary = numbered(symbols)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        symbols, device = len(self.vocabulary), generator.device
        old = torch.randint(symbols, (n, 1), generator=generator, device=device)
        step = torch.randint(1, symbols, (n, 1), generator=generator, device=device)
        new = (old + step) % symbols
        return Sample(torch.cat([old, new, old.repeat(1, length)], 1), new.repeat(1, length))

    def solve(self, prompt: list[int]) -> list[int]:
        old, new, *text = prompt if len(prompt) > 2 else [0, 0]
        if old == new or set(text) != {old}:
            raise ValueError("the prompt is not two different symbols, and then the first of them")
        return [new if symbol == old else symbol for symbol in text]

    def chance(self, length: int) -> Chance:
        """From the length alone every symbol is as likely, and all tokens are right or none."""
        return Chance(1 / len(self.vocabulary), 1 / len(self.vocabulary))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """The prompt itself, which has no other order."""
        return prompt.clone()
