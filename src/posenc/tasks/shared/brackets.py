"""What tasks over strings of brackets share: names, which bracket closes which."""

import torch
from torch import Tensor

from posenc.tasks.base import Vocabulary
from posenc.tasks.shared.strings import check_whole

NAMES = ("()", "[]", "{}", "<>")


def brackets(types: int, *others: str, least: int = 1) -> Vocabulary:
    """First the opening brackets, then the closing ones in the same order, then the others.

    Raises ConfigError unless there are `least` types, or more, up to 4.
    """
    names = NAMES[: check_whole("task.types", types, least, len(NAMES))]
    left, right = (tuple(name[side] for name in names) for side in (0, 1))
    return Vocabulary(left + right + others)


def depths(opens: Tensor) -> Tensor:
    """(...,P) bool, whether a bracket opens -> (...,P) int64, how many are open behind it."""
    return (2 * opens.long() - 1).cumsum(dim=-1)


def typed(opens: Tensor, types: int, generator: torch.Generator) -> Tensor:
    """(n,P) bool, whether a bracket opens -> (n,P) tokens, types uniform over those that open.

    At no place may more have been closed than opened. On one level brackets open and close in turn:
    so, sorted by level, one that closes stands right behind the one that it closes.
    """
    level = depths(opens) + ~opens
    order = level.argsort(dim=1, stable=True)
    opening = opens.gather(1, order)
    drawn = torch.randint(types, opens.shape, generator=generator, device=generator.device)
    token = torch.where(opening, drawn, drawn.roll(1, dims=1) + types)
    return torch.empty_like(token).scatter_(1, order, token)


def open_ends(prompt: list[int], types: int) -> list[int] | None:
    """The types that are still open, outermost first; None where a bracket closes another type."""
    stack: list[int] = []
    for token in prompt:
        if token < types:
            stack.append(token)
        elif not stack or stack.pop() != token - types:
            return None
    return stack
