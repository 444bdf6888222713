"""Induction: what followed the special token when it was there before?"""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import numbered, rearrange, symbol_chance


class Induction(Task):
    """A text with one special token in it, and that token again, in; out comes what followed it.

        prompt  4 1 7 * 2 1 0 *
        answer  2

    Length counts the tokens of the prompt, both special ones included. Order matters. The symbols
    of the text are independent and uniform, and every place but the last two is as likely for the
    first special token. Olsson et al. 2022 (arXiv:2209.11895) found heads that do this; as a task
    of its own it is from Fu et al. 2022 (arXiv:2212.14052). Gu & Dao 2023 (arXiv:2312.00752) train
    it at length 256 and test it up to 2^20, with 16 symbols.
    """

    minimum = 3

    def __init__(self, *, symbols: int = 16) -> None:
        self.vocabulary = numbered(symbols, "*")
        self.special = symbols

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where nothing could follow the special token."""
        if length < self.minimum:
            raise ConfigError(f"length {length}: a prompt of induction has at least 3 tokens")
        device = generator.device
        prompt = torch.randint(self.special, (n, length), generator=generator, device=device)
        place = torch.randint(length - 2, (n, 1), generator=generator, device=device)
        prompt[:, -1] = self.special
        prompt.scatter_(1, place, self.special)
        return Sample(prompt, prompt.gather(1, place + 1))

    def solve(self, prompt: list[int]) -> list[int]:
        ends = prompt[-1:] == [self.special] and prompt.count(self.special) == 2
        if not ends or prompt[-2] == self.special:
            raise ValueError("the prompt is not a text with one * and a symbol behind it, then *")
        return [prompt[prompt.index(self.special) + 1]]

    def chance(self, length: int) -> Chance:
        """See `symbol_chance`: any of the n - 2 symbols may be the one behind the special token."""
        return symbol_chance(length - 2, self.special)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """The special tokens stay, the text changes places."""
        text = prompt != self.special
        reordered = prompt.clone()
        reordered[text] = rearrange(prompt[text], generator)
        return reordered
