"""How a problem becomes the input of a network: first the prompt, then places to answer at.

Both layouts have T = P + A tokens, and the answer is read at the last A of them.

    encoder   p1 p2 p3 ?  ?          all answers predicted in parallel, from identical slots
    decoder   p1 p2 p3 ?  a1         next-token prediction with teacher forcing; `?` separates

A task may instead ask at the tokens of the prompt itself. Then both layouts are the prompt, and the
answers are read at its P tokens.

An answer that is unique makes "every teacher-forced argmax is right" the same event as "greedy
decoding gives the whole answer", because the first wrong token breaks both.
"""

import torch
from torch import Tensor

from posenc.positions.base import Slots
from posenc.tasks.base import Sample


def arrange(sample: Sample, *, ask: int, causal: bool) -> Tensor:
    """-> (n,T) input tokens, `ask` being the token of an answer slot."""
    if sample.in_place:
        return sample.prompt
    slots = torch.full_like(sample.answer, ask)
    if causal:
        slots[:, 1:] = sample.answer[:, :-1]
    return torch.cat([sample.prompt, slots], dim=1)


def slots(sample: Sample, *, causal: bool) -> Slots:
    """What a source of positions may know of the tokens that `arrange` gives."""
    rows, prompt = sample.prompt.shape
    if sample.in_place:
        return Slots(rows, prompt, sample.places, sample.coordinates)

    def shown(marks: Tensor | None) -> Tensor | None:
        if marks is None:
            return None
        if causal:
            return marks[:, :-1]
        return torch.cat([marks[:, :prompt], marks[:, prompt + 1 :]], dim=1)

    tokens = prompt + sample.answer.shape[1]
    return Slots(rows, tokens, shown(sample.places), shown(sample.coordinates))
