"""Multi-query associative recall: pairs of a key and a value, and later every key again."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.recall import all_different
from posenc.tasks.shared.strings import check_whole, rearrange

BLANK = 0
FILLERS = ("blank", "random")
TRIED = 200_000
"""Tokens of the bags that are tried out where fillers are random."""


class MQAR(Task):
    """K pairs of a key and a value, then every key once more; asked at each is its value.

        prompt  k3 v7 k1 v2 k9 v4 k5 v1 k9 _ k3 _ k5 _ _ _ k1 _ _ _
        answer  v4 v7 v1 v2

    Length counts the tokens, N, while the number of pairs stays: N is even and at least 4K. Order
    matters. The values are asked for in place, at the second of a key's two places. Half of the V
    symbols are values, the others are keys and a blank; both are drawn uniformly without
    replacement. Key j comes again 2 g_j places behind the pairs, where the g are drawn one after
    the other without replacement from 0 ... N/2 - K - 1 with weights (g + 1)^(power - 1): early
    places are preferred, and `power=1` prefers none.

    All of this is Zoology's, Arora et al. 2023 (arXiv:2312.04927), at (N, K) = (64, 4), (128, 8),
    (256, 16) and (512, 64). `filler=blank` (the symbol `_`) fills the other places as in the main
    figure of the paper, and makes chance the same at all lengths, so it is the default here.
    `filler=random`, the default of the code, fills them with any symbols; here without the keys of
    the row, which the code lets in too, and does not ask for there: no reader can tell such a place
    from one that is asked.
    """

    def __init__(
        self, *, symbols: int = 8192, pairs: int = 4, power: float = 0.01, filler: str = "blank"
    ) -> None:
        check_whole("task.pairs", pairs, 2)
        self.minimum = 4 * pairs
        if type(symbols) is not int or symbols <= self.minimum:
            raise ConfigError(
                f"task.symbols={symbols}: must be a whole number above {self.minimum}, the shortest"
                f" length with task.pairs={pairs}"
            )
        if type(power) not in (int, float) or not 0 <= power <= 100:
            raise ConfigError(f"task.power={power}: must be a number from 0 to 100")
        self.pairs, self.power = pairs, power
        self.filler = check_choice("task.filler", filler, FILLERS)
        self.chance_error = 0.005 if filler == "random" else 0.0
        self.first_value = symbols // 2
        self.values = symbols - self.first_value
        self.vocabulary = Vocabulary(
            [
                "_",
                *(f"k{key}" for key in range(1, self.first_value)),
                *(f"v{value}" for value in range(self.values)),
            ]
        )

    def lengths(self, low: int, high: int) -> list[int]:
        """The even ones. Raises ConfigError where there are not more symbols than `high`."""
        legal = [length for length in super().lengths(low, high) if length % 2 == 0]
        if legal:
            self._check(legal[-1])
        return legal

    def _check(self, length: int) -> None:
        symbols = len(self.vocabulary)
        if length < self.minimum or length % 2:
            raise ConfigError(
                f"length {length}: with task.pairs={self.pairs}, mqar has even lengths, from "
                f"{self.minimum} on"
            )
        if length >= symbols:
            raise ConfigError(
                f"task.symbols={symbols}: must be above the length, {length}; set task.symbols="
                f"{length + 1} or more, or length.test={symbols - 1} or less"
            )

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for a length that is none of the task."""
        self._check(length)
        device, told = generator.device, 2 * self.pairs
        keys = all_different(n, self.pairs, self.first_value - 1, generator) + 1
        values = all_different(n, self.pairs, self.values, generator) + self.first_value

        # Clocks of these rates ring in the order of weighted draws without replacement.
        gaps = torch.arange(1, (length - told) // 2 + 1, device=device)
        clock = torch.empty(n, len(gaps), device=device).exponential_(generator=generator)
        ring = clock * gaps ** (1 - self.power)
        place = told + 2 * ring.topk(self.pairs, largest=False).indices

        prompt = self._fillers(keys, length, generator)
        prompt[:, :told] = torch.stack([keys, values], dim=2).flatten(1)
        prompt.scatter_(1, place, keys)
        answer = torch.zeros_like(prompt).scatter_(1, place, values)
        return Sample(prompt, answer, scored=answer > 0, in_place=True)

    def _fillers(self, keys: Tensor, length: int, generator: torch.Generator) -> Tensor:
        """(n,K) -> (n,length)."""
        shape = (len(keys), length)
        if self.filler == "blank":
            return keys.new_full(shape, BLANK)
        others = len(self.vocabulary) - self.pairs
        drawn = torch.randint(others, shape, generator=generator, device=generator.device)
        gaps = keys.sort(dim=1).values - torch.arange(self.pairs, device=keys.device)
        return drawn + torch.searchsorted(gaps, drawn, right=True)

    def asked(self, prompt: Tensor) -> Tensor:
        """Behind the pairs, where one of their keys stands."""
        told = 2 * self.pairs
        again = (prompt[:, :, None] == prompt[:, None, :told:2]).any(dim=2)
        return again & (torch.arange(prompt.shape[1], device=prompt.device) >= told)

    def solve(self, prompt: list[int]) -> list[int]:
        told, later = prompt[: 2 * self.pairs], prompt[2 * self.pairs :]
        value_of = dict(zip(told[::2], told[1::2], strict=True)) if len(told) % 2 == 0 else {}
        asked = [place for place, token in enumerate(later) if token in value_of]
        if (
            len(prompt) % 2
            or len(set(value_of.values())) != self.pairs
            or not all(BLANK < key < self.first_value for key in value_of)
            or min(value_of.values()) < self.first_value
            or sorted(later[place] for place in asked) != sorted(value_of)
            or any(place % 2 for place in asked)
        ):
            raise ValueError(
                f"the prompt is not {self.pairs} different keys with different values, and later "
                "every key once more, at an even distance"
            )
        return [value_of[later[place]] for place in asked]

    def chance(self, length: int) -> Chance:
        """With blanks, K! orders of the values are as likely. Random fillers hide these values.

        `values_among_fillers` tells how well they are guessed then; it tries out bags at random.
        """
        whole, each = 1.0, 1.0
        if self.filler == "random":
            others = len(self.vocabulary) - self.pairs
            whole, each = values_among_fillers(
                self.pairs, self.values, length - 3 * self.pairs, self.values / others
            )
        return Chance(whole / math.factorial(self.pairs), each / self.pairs)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Keys stay, values of the pairs change places."""
        reordered, pairs = prompt.clone(), slice(1, 2 * self.pairs, 2)
        reordered[pairs] = rearrange(prompt[pairs], generator)
        return reordered


def values_among_fillers(
    count: int, values: int, fillers: int, share: float
) -> tuple[float, float]:
    """Chances that the K likeliest values of a bag are the K told ones, and that the likeliest is
    one of them, where each filler is a value with probability `share`, and then any of them.

    Given the bag, K values were told with a probability in proportion to the product of their
    counts in the bag: as often as fillers make up the rest. That is the law of independent coins,
    one for each value, of odds in proportion to its count, given that K of them show heads.
    """
    stream = torch.Generator().manual_seed(0)
    bags = TRIED // (count + fillers)
    told = torch.arange(count).expand(bags, -1)  # whichever: no value differs from another
    filler = torch.randint(values, (bags, fillers), generator=stream)
    absent = torch.rand(bags, fillers, generator=stream) >= share
    tokens = torch.cat([told, filler.masked_fill(absent, -1)], dim=1).sort(dim=1).values

    run = (tokens.diff(dim=1, prepend=tokens[:, :1]) != 0).long().cumsum(dim=1)
    present = (tokens >= 0).double()
    counts = torch.zeros(tokens.shape, dtype=torch.float64).scatter_add_(1, run, present)
    counts = counts.sort(dim=1, descending=True).values
    odds = counts * count / counts.sum(dim=1, keepdim=True)
    heads = odds / (1 + odds)

    sizes = torch.zeros(bags, count + 1, dtype=torch.float64)  # heads so far, up to K
    sizes[:, 0] = 1
    first = heads[:, 0]
    for coin in heads[:, 1:].T.unsqueeze(2):
        sizes = sizes * (1 - coin) + coin * sizes.roll(1, dims=1).index_fill(
            1, torch.tensor([0]), 0.0
        )
    with_first = first * sizes[:, -2]
    all_told = with_first + (1 - first) * sizes[:, -1]
    top = heads[:, :count].prod(dim=1) * (1 - heads[:, count:]).prod(dim=1)
    return (top / all_told).mean().item(), (with_first / all_told).mean().item()
