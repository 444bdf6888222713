"""Repeat one token: put out as many as came in."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.picking import END
from posenc.tasks.shared.strings import check_flag, numbered


class RepeatToken(Task):
    """One symbol n times in, the same n tokens out; length counts the tokens of the prompt.

        prompt  9 9 9 9
        answer  9 9 9 9

    Order does not matter: a prompt has no second order, and one glance at any place tells the whole
    answer. So it is a control that tests coping with the length alone. The symbol is uniform over
    100 by default: Kazemnejad et al. 2023 (arXiv:2305.19466). With `end=True` a sign ends the
    answer, so that a network has to tell how many tokens there were, which is what theirs do;
    without, to repeat the last token is enough.
    """

    order_matters = False
    times = 1
    """Answer tokens for each token of the prompt."""

    def __init__(self, *, symbols: int = 100, end: bool = False) -> None:
        self.end = check_flag("task.end", end)
        self.vocabulary = numbered(symbols, *[END] * end)
        self.symbols = symbols

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        symbol = torch.randint(self.symbols, (n, 1), generator=generator, device=generator.device)
        answer = pad(symbol.repeat(1, self.times * length), (0, int(self.end)), value=self.symbols)
        return Sample(symbol.repeat(1, length), answer)

    def solve(self, prompt: list[int]) -> list[int]:
        if len(set(prompt)) != 1 or prompt[0] >= self.symbols:
            raise ValueError("the prompt is not one token, repeated")
        return [prompt[0] for _ in range(self.times * len(prompt))] + [self.symbols] * self.end

    def chance(self, length: int) -> Chance:
        """From the length alone every symbol is as likely, and where the answer ends is known."""
        symbol, tokens = 1 / self.symbols, self.times * length
        return Chance(symbol, (tokens * symbol + self.end) / (tokens + self.end))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """The prompt itself, which has no other order."""
        return prompt.clone()
