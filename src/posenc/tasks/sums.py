"""Digits of sums, and how well they are guessed from the digits that were added up."""

import math

import torch
from torch import Tensor

from posenc.tasks.base import Chance

TRIED = 200_000
"""Problems that are tried one by one; those that only exchange digits of equal weight are one."""


def carried(sums: Tensor, base: int) -> Tensor:
    """(n,L) sums of two digits -> (n,L+1) digits of the whole, least significant first in both.

    A place hands on a carry if it sums to `base` or more, and what it was handed if it sums to
    `base` - 1. So a carry is made at the last place below that sums to anything else.
    """
    place = torch.arange(1, sums.shape[1] + 1)
    maker = torch.where(sums == base - 1, 0, place).cummax(dim=1).values
    nothing = torch.zeros_like(sums[:, :1])
    carries = torch.cat([nothing, (sums >= base).long()], dim=1).gather(1, maker)
    return (torch.cat([sums, nothing], dim=1) + torch.cat([nothing, carries], dim=1)) % base


def blind_chance(base: int, length: int) -> Chance:
    """Of the sum of two numbers of `length` uniform digits, where only the bag of these is known.

    Exact while all problems can be tried: up to 3 digits in base 10. Beyond, both figures are upper
    bounds, the smaller ones of two.

    Tell a guess all pairs of digits of equal weight but k that follow each other: what is left is
    a problem of length k. A carry into it changes no chance, as complementing all digits shows.

    Tell it the pairs below a digit, down to the first that does not sum to b - 1: now it knows the
    carry, and m pairs remain. Two of their orders agree in the digit with probability 1 / b, or
    surely, if both have the same pair there, one of m(2m - 1). So, in the mean over bags, squared
    deviations of the digit's law from 1 / b add up to (1 - 1 / b) / (m(2m - 1)); the square of the
    largest is at most 1 - 1 / b times that. A sum is no more often right than its lowest digit. And
    at most b^n prompts have the same sum, so of all b^2n no more are guessed than b^n times the
    number of bags.
    """
    tried = max(k for k in range(1, length + 1) if k == 1 or math.comb(base + 1, 2) ** k <= TRIED)
    whole, digits, carry = _try_all(base, tried)
    if tried == length:
        return Chance(whole, (sum(digits) + carry) / (length + 1))
    other, digit = 1 - 1 / base, 1.0
    for pairs in range(1, length):
        digit = other * (1 / base + other / math.sqrt(pairs * (2 * pairs - 1))) + digit / base
    digit = min(digit, max(digits))
    bags = math.comb(2 * length + base - 1, base - 1)
    exact = min(whole, digit, bags / base**length)
    return Chance(exact, (length * digit + carry) / (length + 1))


def _try_all(base: int, length: int) -> tuple[float, list[float], float]:
    """-> chance of the whole sum, of its `length` lower digits one by one, and of the highest."""
    pair = torch.combinations(torch.arange(base), with_replacement=True)
    choices = torch.cartesian_prod(*[torch.arange(len(pair))] * length).reshape(-1, length)
    pairs = pair[choices]
    prompts = (1 + (pairs[..., 0] != pairs[..., 1]).long()).prod(dim=1)
    digits = pairs.flatten(1).sort(dim=1).values
    bags = _number(digits, base).unique(return_inverse=True)[1]
    answer = carried(pairs.sum(dim=2), base)
    *slots, carry = [_guessed(bags, slot, prompts) for slot in answer.T]
    return _guessed(bags, _number(answer, base), prompts), slots, carry


def _number(digits: Tensor, base: int) -> Tensor:
    """(n,L) digits, least significant first -> (n,)."""
    return (digits * base ** torch.arange(digits.shape[1])).sum(dim=1)


def _guessed(bags: Tensor, answers: Tensor, prompts: Tensor) -> float:
    """Share of prompts whose answer is the commonest one of their bag; problem i stands for
    `prompts[i]` of them."""
    size = int(answers.max()) + 1
    keys, problem = (bags * size + answers).unique(return_inverse=True)
    counts = torch.bincount(problem, weights=prompts.double())
    commonest = counts.new_zeros(int(bags.max()) + 1)
    commonest.scatter_reduce_(0, keys // size, counts, "amax")
    return (commonest.sum() / prompts.sum()).item()
