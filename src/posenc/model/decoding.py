"""Answers without teacher forcing: what the network says when it only sees the prompt."""

import torch
from torch import Tensor

from posenc.model.layout import arrange
from posenc.model.transformer import Transformer


@torch.inference_mode()
def decode(
    net: Transformer, prompt: Tensor, ids: Tensor, answers: int, watch: list[Tensor] | None = None
) -> Tensor:
    """(n,P), (1 or n, P+A) -> (n,A,V) logits of greedy answers.

    An encoder answers at once. A decoder takes `answers` passes: after the i-th, the first i tokens
    are what greedy decoding gives. `watch` receives the attention weights of the last pass.
    """
    answer = prompt.new_zeros(len(prompt), answers)
    for _ in range(answers if net.shape.causal else 1):
        if watch is not None:
            watch.clear()
        tokens = arrange(prompt, answer, ask=net.ask, causal=net.shape.causal)
        logits = net(tokens, ids, answers, watch)
        answer = logits.argmax(dim=-1)
    return logits
