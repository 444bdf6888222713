"""First of two: put out which of two marked symbols comes first."""

from string import ascii_uppercase

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import check_whole, distinct


class FirstOfTwo(Task):
    """n symbols in, two of them marked, the first marked one out; length counts all symbols.

        prompt  4 0 B 1 1 A 7
        answer  B

    Order matters, and nothing else does. Two different ones out of `marked` capital letters, A and
    B by default, stand at two places of which every pair is as likely; numbers fill the others,
    independent and uniform, `fillers` of them. The task is this project's own.
    """

    minimum = 2

    def __init__(self, *, marked: int = 2, fillers: int = 10) -> None:
        letters = ascii_uppercase[: check_whole("task.marked", marked, 2, len(ascii_uppercase))]
        numbers = map(str, range(check_whole("task.fillers", fillers, 1)))
        self.letters, self.fillers = len(letters), fillers
        self.vocabulary = Vocabulary([*letters, *numbers])

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        prompt = torch.randint(
            self.fillers, (n, length), generator=generator, device=generator.device
        )
        prompt += self.letters
        places = distinct(n, 2, length, generator).sort(dim=1).values
        letters = distinct(n, 2, self.letters, generator)
        return Sample(prompt.scatter_(1, places, letters), letters[:, :1])

    def solve(self, prompt: list[int]) -> list[int]:
        letters = [token for token in prompt if self.vocabulary.symbols[token].isupper()]
        if len(letters) != 2 or len(set(letters)) != 2:
            raise ValueError("the prompt does not hold two different letters")
        return letters[:1]

    def chance(self, length: int) -> Chance:
        """One half: exchanging the two letters gives an equally likely prompt of the same bag."""
        return Chance(0.5, 0.5)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Exchanges the two letters and leaves every filler where it is."""
        places = (prompt < self.letters).nonzero().flatten()
        exchanged = prompt.clone()
        exchanged[places] = prompt[places.flip(0)]
        return exchanged
