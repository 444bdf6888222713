"""Scratchpads of Kazemnejad et al. 2023: steps before an answer, in the same words in every task.

A step is `in` the next item, `comp` what is computed of it, `out` the result, `[ ]` how it changes
the running value, `re` the items that are left; `#` stands between steps, `answer` before the last.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance
from posenc.tasks.shared.blind import learned_chance

WORDS = ("in", "comp", "out", "[", "->", "]", "re", "#", "answer")
DEALT = 300_000
"""Tokens of all deals together that an estimate looks at, at most about."""


def check_scratchpad(scratchpad: bool) -> bool:
    """Returns it; raises ConfigError for any other value than true and false."""
    if scratchpad not in (True, False):
        raise ConfigError(f"task.scratchpad={scratchpad}: must be true or false")
    return scratchpad


def written(
    columns: Sequence[Tensor | int], left: Tensor, kept: Tensor, *, separator: int
) -> Tensor:
    """(n,T) tokens or one for all, (n,T,R) what is left, (T,R) what of it is shown -> (n,A) steps.

    Step t is a token of every column, and what is left after it.
    """
    (rows, steps), device = left.shape[:2], left.device
    same = left.new_zeros(rows, steps)
    parts = [(same + column)[..., None] for column in columns]
    between = torch.arange(steps, device=device)[:, None] < steps - 1
    grid = torch.cat([*parts, left, (same + separator)[..., None]], dim=2)
    always = torch.ones(steps, len(parts), dtype=torch.bool, device=device)
    shown = torch.cat([always, kept, between], dim=1)
    return grid.flatten(1)[:, shown.flatten()]


def deals(tokens: int) -> tuple[int, int]:
    """-> how many bags, and how many deals of each, for an estimate on problems of so many."""
    problems = DEALT // tokens
    each = min(max(problems // 32, 128), 256)
    return max(problems // each, 1), each


def steps_chance(columns: Tensor, item: int, fixed: int) -> Chance:
    """Estimates the chance of an answer with steps that show all items that are left.

    (b,d,T,F) tokens, `d` deals of each of `b` bags: of every step those that depend on the deal,
    the first `item` of them the next item, the last of all the answer. `fixed` tokens of a step do
    not depend on it. An item is as hard to guess wherever it is shown.
    """
    steps, free = columns.shape[2:]
    whole, of_columns = learned_chance(columns.flatten(2))
    of_items = learned_chance(columns[..., :item].flatten(2)).token
    last = learned_chance(columns[:, :, -1, -1:]).token
    shown, sure = item * steps * (steps - 1) // 2, fixed * steps + steps
    right = of_columns * steps * free + of_items * shown + last + sure
    return Chance(whole, right / (steps * free + shown + 1 + sure))
