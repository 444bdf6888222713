"""What tasks over strings of interchangeable symbols share: names, draws, orders, chance."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Vocabulary


def numbered(symbols: int, *signs: str) -> Vocabulary:
    """Symbols named 0, 1, 2, ..., then any signs. Raises ConfigError below two symbols."""
    check_whole("task.symbols", symbols, 2)
    return Vocabulary([*map(str, range(symbols)), *signs])


def check_whole(key: str, value: int, low: int, high: int | None = None) -> int:
    """Returns `value`; raises ConfigError unless it is a whole number from `low` to `high`.

    None stands for no upper end.
    """
    if type(value) is not int or value < low or (high is not None and value > high):
        bounds = f", at least {low}" if high is None else f" from {low} to {high}"
        raise ConfigError(f"{key}={value}: must be a whole number{bounds}")
    return value


def check_flag(key: str, value: bool) -> bool:
    """Returns `value`; raises ConfigError unless it is true or false."""
    if type(value) is not bool:
        raise ConfigError(f"{key}={value}: must be true or false")
    return value


def distinct(rows: int, count: int, below: int, generator: torch.Generator) -> Tensor:
    """(rows, count) int64: in every row different numbers from 0..below-1, in random order."""
    noise = torch.rand(rows, below, generator=generator, device=generator.device)
    return noise.argsort(1)[:, :count]


def shuffled(prompts: Tensor, kinds: Tensor, generator: torch.Generator) -> Tensor:
    """(n,P), (1 or n, P) int64 -> (n,P): in every row tokens of one kind change places at random.

    With as many kinds as places nothing moves; with one kind every order is as likely.
    """
    kinds = kinds.expand_as(prompts)
    noise = torch.rand(prompts.shape, generator=generator, device=generator.device)
    source = (kinds + noise * 0.999).argsort(dim=1)
    target = kinds.argsort(dim=1, stable=True)
    return torch.empty_like(prompts).scatter_(1, target, prompts.gather(1, source))


def ended(tokens: Tensor, sizes: Tensor, end: int) -> tuple[Tensor, Tensor]:
    """(n,A) tokens, (n,) sizes -> (n,A) answers and what of them is scored.

    Of each row the first tokens stay, as many as its size says, and then comes `end`, scored too;
    what follows is 0 and not scored. A row that fills its A places has no end.
    """
    place, size = torch.arange(tokens.shape[1], device=tokens.device), sizes[:, None]
    answer = tokens.where(place < size, 0).where(place != size, end)
    return answer, place <= size


def rearrange(prompt: Tensor, generator: torch.Generator) -> Tensor:
    """(P,) -> (P,): the same tokens in a random order, another one wherever there is another."""
    order = torch.randperm(len(prompt), generator=generator, device=generator.device)
    return prompt.roll(1) if torch.equal(prompt[order], prompt) else prompt[order]


def symbol_chance(length: int, symbols: int) -> Chance:
    """Chance of an answer that is one of n prompt tokens, each drawn from V symbols, at a place
    that the bag does not tell: the most frequent symbol is the best guess."""
    share = _largest_count(length, symbols) / length
    return Chance(share, share)


def arrangement_chance(length: int, symbols: int) -> Chance:
    """Chance of answers that hold all prompt tokens, each drawn from V symbols, in a known order.

    Given the bag, its N arrangements are equally likely. Any of them is the best exact guess: the
    bag comes up with probability N / V^n and the guess is right with 1 / N, so the sum over bags
    counts the bags, C(n + V - 1, n) / V^n. Every answer token is the symbol s with the share of s
    in the bag, so the best guess for tokens repeats the most frequent symbol.
    """
    bags = math.comb(length + symbols - 1, length)
    return Chance(bags / symbols**length, symbol_chance(length, symbols).token)


def _largest_count(length: int, symbols: int) -> float:
    """Expected count of the most frequent of V symbols among n independent uniform draws.

    The counts are V independent Poisson variables of mean n / V, given that they add up to n. Cut
    that law off above m, and its V-fold convolution at n is proportional to P(largest <= m); what
    remains is a sum over m of P(largest > m). The convolution is circular: sums that reach
    3n + 64 fold back onto n, and their probability is below 1e-80.
    """
    counts = torch.arange(length + 1, dtype=torch.float64)
    law = (counts * math.log(length / symbols) - torch.lgamma(counts + 1)).softmax(0)
    cut_above = law.expand(length + 1, -1).tril()
    size = 2 * length + 64
    sums = torch.fft.irfft(torch.fft.rfft(cut_above, size) ** symbols, size)[:, length]
    return (1 - sums / sums[-1]).sum().item()
