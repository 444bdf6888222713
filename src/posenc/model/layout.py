"""How a problem becomes the input of a network: first the prompt, then places to answer at.

Both layouts have P + A tokens, and the answer is read at the last A of them.

    encoder   p1 p2 p3 ?  ?          all answers predicted in parallel, from identical slots
    decoder   p1 p2 p3 ?  a1         next-token prediction with teacher forcing; `?` separates

An answer that is unique makes "every teacher-forced argmax is right" the same event as "greedy
decoding gives the whole answer", because the first wrong token breaks both.
"""

import torch
from torch import Tensor


def arrange(prompt: Tensor, answer: Tensor, *, ask: int, causal: bool) -> Tensor:
    """(n,P), (n,A) -> (n,P+A) input tokens, `ask` being the token of an answer slot."""
    slots = torch.full_like(answer, ask)
    if causal:
        slots[:, 1:] = answer[:, :-1]
    return torch.cat([prompt, slots], dim=1)
