"""What tasks of recall share: keys with values, and draws without replacement from many."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Vocabulary
from posenc.tasks.shared.strings import distinct


def keys_and_values(symbols: int) -> Vocabulary:
    """Half of the symbols are keys, k0, k1, ..., and half are values, v0, v1, ...

    Raises ConfigError unless there are two of each at least.
    """
    if not isinstance(symbols, int) or symbols < 4 or symbols % 2:
        raise ConfigError(f"task.symbols={symbols}: must be an even number, at least 4")
    return Vocabulary([f"{kind}{number}" for kind in "kv" for number in range(symbols // 2)])


def all_different(rows: int, count: int, below: int, generator: torch.Generator) -> Tensor:
    """(rows, count) int64: in every row different numbers from 0..below-1, in random order.

    The same law as `distinct`, without a draw for each of the `below` numbers: repeats are drawn
    again until there are none. Nothing in this depends on which number is which, so every result
    without repeats is as likely.
    """
    if 2 * count > below:
        return distinct(rows, count, below, generator)
    device = generator.device
    drawn = torch.randint(below, (rows, count), generator=generator, device=device)
    while True:
        ordered, place = drawn.sort(dim=1, stable=True)
        row, column = (ordered[:, 1:] == ordered[:, :-1]).nonzero(as_tuple=True)
        if len(row) == 0:
            return drawn
        again = torch.randint(below, (len(row),), generator=generator, device=device)
        drawn[row, place[row, column + 1]] = again
