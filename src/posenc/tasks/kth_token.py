"""k-th token: put out the symbol that stands where a number says."""

from string import ascii_lowercase

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import check_whole, rearrange, symbol_chance


class KthToken(Task):
    """A number k and n symbols in, the k-th of them out; length counts the n symbols alone.

        prompt  0 0 3 b a c a
        answer  c

    Order matters. k is uniform over 1 ... n, but at most `largest`, and is written in decimal with
    as many digits as `largest` has, most significant first. With `largest=9` it is a single token,
    and longer strings ask for nothing that was not trained; by default they ask for numbers whose
    digits stand where they never stood. Symbols are letters, independent and uniform, 26 by
    default. The task is this project's own.
    """

    def __init__(self, *, symbols: int = 26, largest: int = 999) -> None:
        self.symbols = check_whole("task.symbols", symbols, 2, len(ascii_lowercase))
        self.highest = check_whole("task.largest", largest, 1)
        self.zero = 0 if largest > 9 else -1  # a number of one digit is never 0
        self.digits = [str(digit) for digit in range(-self.zero, min(largest, 9) + 1)]
        self.vocabulary = Vocabulary([*self.digits, *ascii_lowercase[:symbols]])

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        device, most = generator.device, min(length, self.highest)
        number = torch.randint(1, most + 1, (n, 1), generator=generator, device=device)
        string = torch.randint(self.symbols, (n, length), generator=generator, device=device)
        string += len(self.digits)
        weights = 10 ** torch.arange(self._width, device=device).flip(0)
        digits = number // weights % 10 + self.zero
        return Sample(torch.cat([digits, string], dim=1), string.gather(1, number - 1))

    def solve(self, prompt: list[int]) -> list[int]:
        symbols = [self.vocabulary.symbols[token] for token in prompt]
        number, string = "".join(symbols[: self._width]), symbols[self._width :]
        written = number.isdecimal() and not any(symbol.isdecimal() for symbol in string)
        if not written or not 1 <= int(number) <= min(len(string), self.highest):
            raise ValueError(
                f"the prompt is not a place in {self._width}-digit form and then letters"
            )
        return self.vocabulary.encode(string[int(number) - 1])

    def chance(self, length: int) -> Chance:
        """See `symbol_chance`: all orders of the string are as likely, whatever the number is."""
        return symbol_chance(length, self.symbols)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Leaves the number and rearranges the string."""
        number, string = prompt[: self._width], prompt[self._width :]
        return torch.cat([number, rearrange(string, generator)])

    @property
    def _width(self) -> int:
        return len(str(self.highest))
