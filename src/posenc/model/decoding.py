"""Answers without teacher forcing: what the network says when it only sees the prompt."""

import torch
from torch import Tensor

from posenc.model.layout import arrange
from posenc.model.transformer import Transformer
from posenc.tasks.base import Sample


@torch.inference_mode()
def decode(
    net: Transformer, asked: Sample, ids: Tensor, watch: list[Tensor] | None = None
) -> Tensor:
    """n problems, whose answers are not looked at, (1 or n, T) ids -> (n,A,V) logits of greedy
    answers.

    An encoder answers at once, and so does every network whose answers are read in place. A decoder
    takes A passes: after the i-th, the first i tokens are what greedy decoding gives. `watch`
    receives the attention weights of the last pass.
    """
    answer = torch.zeros_like(asked.answer)
    at_once = asked.in_place or not net.shape.causal
    for _ in range(1 if at_once else answer.shape[1]):
        if watch is not None:
            watch.clear()
        tokens = arrange(asked._replace(answer=answer), ask=net.ask, causal=net.shape.causal)
        logits = net(tokens, ids, answer.shape[1], watch)
        answer = logits.argmax(dim=-1)
    return logits
