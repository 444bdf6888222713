"""Expressions in which every operation has its brackets: random ones, all of them, their values.

One of n tokens is, by its length,

    1  d          2  - d          3  ( d )          4  ( - d )
    5 or more     ( L op R )      with an L of 1 to n - 4 tokens, as likely each

where d is a digit from 0 to 4, and L and R are expressions again. Values are taken modulo 5.
Source: Delétang et al. 2022, arXiv:2207.02098.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from posenc.tasks.shared.blind import learned_chance

MODULUS = 5
PLUS, MINUS, OPEN, CLOSE, TIMES = range(MODULUS, MODULUS + 5)
LEAF = 4
"""Tokens of the longest expression without an operator."""
DRAWN, ORDERS = 800_000, 200
"""Of an estimated chance: tokens of all expressions, and how many of these share a bag."""


def _results() -> Tensor:
    """(TIMES + 1, 5, 5): of an operator between two values."""
    first, second = torch.arange(MODULUS)[:, None], torch.arange(MODULUS)
    results = torch.zeros(TIMES + 1, MODULUS, MODULUS, dtype=torch.int64)
    results[PLUS], results[MINUS], results[TIMES] = first + second, first - second, first * second
    return results % MODULUS


RESULTS = _results()


class Brackets(NamedTuple):
    """Where n expressions of one length have their parts, in the flat list of all their tokens."""

    leaf: Tensor
    """Where parts without an operator begin."""
    size: Tensor
    """How many tokens these have."""
    levels: list[tuple[Tensor, Tensor]]
    """For all other parts, outer ones first: where they begin; where their L do, then their R."""

    def values(self, tokens: Tensor) -> Tensor:
        """(n,P) tokens of expressions with these brackets -> (n,)."""
        flat = tokens.flatten()
        value = torch.zeros_like(flat)
        digit = flat[self.leaf + self.size // 2]
        value[self.leaf] = torch.where(self.size % 2 == 0, -digit, digit) % MODULUS
        results = RESULTS.to(flat.device)
        for begin, parts in reversed(self.levels):
            first, second = value[parts].chunk(2)
            value[begin] = results[flat[parts.chunk(2)[1] - 1], first, second]
        return value[:: tokens.shape[1]]


def drawn(
    n: int, length: int, operators: tuple[int, ...], generator: torch.Generator
) -> tuple[Tensor, Brackets]:
    """n random expressions, whose operators are uniform over these -> (n,P) tokens, their brackets.

    Brackets are drawn from the outermost inwards, all of one depth at once.
    """
    device = generator.device
    noise = torch.randint(2**40, (n * length,), generator=generator, device=device)
    tokens = torch.randint(MODULUS, (n * length,), generator=generator, device=device)
    begin = torch.arange(0, n * length, length, device=device)
    size = torch.full_like(begin, length)
    begins, sizes, levels = [begin], [size], []
    while len(inner := (size > LEAF).nonzero().flatten()):
        begin, size = begin[inner], size[inner]
        left = 1 + noise[begin] % (size - LEAF)
        parts = torch.cat([begin + 1, begin + 2 + left])
        levels.append((begin, parts))
        begin, size = parts, torch.cat([left, size - 3 - left])
        begins.append(begin)
        sizes.append(size)

    begin, size = torch.cat(begins), torch.cat(sizes)
    leaves, wide = (size <= LEAF).nonzero().flatten(), (size > 2).nonzero().flatten()
    brackets = Brackets(begin[leaves], size[leaves], levels)
    negative = brackets.size % 2 == 0
    tokens[(brackets.leaf + brackets.size // 2 - 1)[negative]] = MINUS
    tokens[begin[wide]] = OPEN
    tokens[begin[wide] + size[wide] - 1] = CLOSE
    if levels:
        joins = torch.cat([parts.chunk(2)[1] for _, parts in levels]) - 1
        choice = torch.tensor(operators, device=device)
        tokens[joins] = choice[noise[joins] % len(operators)]
    return tokens.view(n, length), brackets


def every(length: int, operators: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """All expressions of a length -> (N,P) tokens, (N,) values, (N,) how likely each is."""
    if length <= LEAF:
        digit = torch.arange(MODULUS)
        sign = [MINUS] * (length % 2 == 0)
        around = ([], []) if length <= 2 else ([OPEN], [CLOSE])
        columns = [
            torch.as_tensor(token).expand(MODULUS)
            for token in (*around[0], *sign, digit, *around[1])
        ]
        likely = torch.full((MODULUS,), 1 / MODULUS, dtype=torch.float64)
        return torch.stack(columns, dim=1), (-digit if sign else digit) % MODULUS, likely
    parts = []
    for left in range(1, length - LEAF + 1):
        (first, a, p), (second, b, q) = (every(n, operators) for n in (left, length - 3 - left))
        counted = torch.arange(len(a)), torch.tensor(operators), torch.arange(len(b))
        i, operator, j = torch.cartesian_prod(*counted).T
        opened, closed = torch.full_like(i, OPEN), torch.full_like(i, CLOSE)
        tokens = torch.column_stack([opened, first[i], operator, second[j], closed])
        parts.append((tokens, RESULTS[operator, a[i], b[j]], p[i] * q[j]))
    tokens, value, likely = (torch.cat(part) for part in zip(*parts, strict=True))
    return tokens, value, likely / likely.sum()


def kinds(tokens: Tensor) -> Tensor:
    """(n,P) -> (n,P): 0 for digits, 1 for operators, from 2 on another number for every place."""
    sign = (tokens == PLUS) | (tokens == MINUS) | (tokens == TIMES)
    ends = (tokens < MODULUS) | (tokens == CLOSE)
    operator = sign & torch.nn.functional.pad(ends[:, :-1], (1, 0))
    other = torch.arange(2, 2 + tokens.shape[1], device=tokens.device)
    return other.where(~operator, 1).where(tokens >= MODULUS, 0)


def bag_gain(
    prompts: Tensor, kinds: Tensor, answers: Callable[[Tensor], Tensor], generator: torch.Generator
) -> float:
    """Estimates how much oftener a guess is right that knows the bag than one that always is 0.

    It takes (n,P) random prompts and their `kinds`. Their digits and operators are overwritten by
    those of another one, in random order, so that many prompts come to have the same bag, as likely
    as they are among all that have it. What else is in a bag, brackets and signs of digits, tells
    how many digits and operators there are; so the other prompt is one that is alike in this.
    `answers` gives (n,) answers to (n,P) prompts.
    """
    other = kinds > 1
    alike = ((prompts == OPEN) * prompts.shape[1] + (other & (prompts == MINUS))).sum(dim=1)
    rows = alike.argsort()[: len(alike) // ORDERS * ORDERS].view(-1, ORDERS)
    rows = rows[alike[rows[:, 0]] == alike[rows[:, -1]]]
    first, row = rows[:, :1].expand_as(rows).flatten(), rows.flatten()
    noise = torch.rand(len(row), prompts.shape[1], generator=generator)
    source = (kinds[first] + 0.999 * noise).argsort(dim=1)
    target = kinds[row].argsort(dim=1, stable=True)
    moved = torch.empty_like(source).scatter_(1, target, prompts[first].gather(1, source))
    bags = prompts.clone()
    bags[row] = prompts[row].where(other[row], moved)
    answer = answers(bags)[rows]
    never_less = learned_chance(answer[..., None]).exact - (answer == 0).double().mean().item()
    return max(0.0, never_less)


def value_of(text: str) -> int:
    """The value of one expression, read and reckoned in plain Python.

    Takes the place of the innermost operations, one after the other, by their values, which are
    written as letters from a to e. Raises ValueError for what is no expression.
    """
    text, part = text.replace(" ", ""), r"(-?[0-4]|\(-?[0-4]\)|[a-e])"
    while found := re.search(rf"\({part}([-+*]){part}\)", text):
        first, second = _number(found[1]), _number(found[3])
        result = {"+": first + second, "-": first - second, "*": first * second}[found[2]]
        text = text[: found.start()] + "abcde"[result % MODULUS] + text[found.end() :]
    if not re.fullmatch(part, text):
        raise ValueError("the prompt is not a bracketed expression")
    return _number(text) % MODULUS


def _number(text: str) -> int:
    return "abcde".index(text) if text in "abcde" else int(text.strip("()"))
