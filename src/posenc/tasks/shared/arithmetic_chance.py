"""How well an answer is guessed from the bag of the digits of two numbers."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from posenc.tasks.base import Chance, Sample
from posenc.tasks.shared.operands import Operands
from posenc.tasks.shared.tried import met_chance, tried_chance

TRIED = 100_000
"""Problems that are tried one by one for an exact chance."""
SHAPES, DIGITS = 4, 300_000
"""Of an estimate: sizes of numbers, and digits that are dealt in all, at most about."""
BAGS, DEALS = 32, (128, 256)
"""Bags of each of these sizes, if that leaves so many deals of a bag: at least, and at most."""


def arithmetic_chance(
    shapes: Sequence[Operands], posed: Callable[[Tensor, Operands], Sample]
) -> Chance:
    """Of a guess that knows the digits and the sizes of both numbers, which are as likely each.

    Exact where at most TRIED problems have these sizes. Else some sizes, spread evenly, stand for
    all, and digits of bags are dealt anew: see `met_chance`. `posed` makes problems, that say
    what is scored, of (n,2,L) numbers.
    """
    if sum(shape.base ** sum(shape.sizes) for shape in shapes) <= TRIED:
        every = [posed(shape.every(), shape) for shape in shapes]
        weights = [torch.full((len(each.prompt),), 1 / len(each.prompt)) for each in every]
        return tried_chance(_together(every), torch.cat(weights))
    if len(shapes) > SHAPES:
        shapes = [shapes[(2 * i + 1) * len(shapes) // (2 * SHAPES)] for i in range(SHAPES)]
    problems = DIGITS // sum(sum(shape.sizes) for shape in shapes)
    deals = min(max(problems // BAGS, DEALS[0]), DEALS[1])
    bags = max(problems // deals, 1)
    stream = torch.Generator().manual_seed(problems)
    dealt = []
    for shape in shapes:
        met = shape.bags(shape.drawn(bags, stream)).repeat_interleave(deals, dim=0)
        dealt.append(posed(shape.dealt(met, stream), shape))
    return met_chance(_together(dealt))


def _together(problems: Sequence[Sample]) -> Sample:
    """Problems of several shapes as if of one: prompts end with a token that is no other."""
    beyond = 1 + max(int(each.prompt.max()) for each in problems)
    width = max(each.prompt.shape[1] for each in problems)
    room = max(each.answer.shape[1] for each in problems)

    def filled(field: Tensor, size: int, value: int) -> Tensor:
        return pad(field, (0, size - field.shape[1]), value=value)

    return Sample(
        torch.cat([filled(each.prompt, width, beyond) for each in problems]),
        torch.cat([filled(each.answer, room, 0) for each in problems]),
        torch.cat([filled(x.scored, room, False) for x in problems if x.scored is not None]),
    )
