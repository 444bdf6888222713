"""Several seeds trained as one batched program, against one by one."""

from collections.abc import Iterator, Mapping
from functools import partial

import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim import AdamW

from posenc.benchmarks.figures import Figure, in_turn, ratios, take
from posenc.benchmarks.plan import Plan
from posenc.building import batches, build
from posenc.metrics import answer_loss
from posenc.model.layout import arrange
from posenc.model.transformer import Transformer

SETS = ("seed", "data.batch_size", "data.curriculum")
SEEDS = 8


def measure(plan: Plan) -> Iterator[Figure]:
    """Seconds of one after the other over seconds of all at once: more than one is a gain."""
    for rows in (16, 64):
        works = {
            kind: partial(take, make(plan, rows), plan.size(5, 1))
            for kind, make in (("separate", separate), ("stacked", stacked))
        }
        seconds = in_turn(works, plan.rounds)
        found = ratios(seconds["separate"], seconds["stacked"])
        yield Figure(f"{SEEDS} seeds one by one / stacked, batches of {rows}", "", found)


def separate(plan: Plan, rows: int) -> Iterator[list[Transformer]]:
    """Every `next` is one step of every network, each on its own batch."""
    nets, tokens, answers = _problems(plan, rows)
    ids = torch.arange(tokens.shape[2])[None]
    optimizers = [AdamW(net.parameters(), fused=True) for net in nets]
    while True:
        for net, optimizer, own, answer in zip(nets, optimizers, tokens, answers, strict=True):
            optimizer.zero_grad()
            answer_loss(net(own, ids, answer.shape[1]), answer, None).backward()
            optimizer.step()
        yield nets


def stacked(plan: Plan, rows: int) -> Iterator[Mapping[str, Tensor]]:
    """The same, with the weights of all networks in one tensor for each of their parameters.

    Attention is spelled out: vmap would take the fused kernel apart, network by network.
    """
    nets, tokens, answers = _problems(plan, rows)
    ids = torch.arange(tokens.shape[2])[None]
    weights, _ = stack_module_state(nets)
    optimizer = AdamW(weights.values(), fused=True)

    def loss(own: dict[str, Tensor], tokens: Tensor, answer: Tensor) -> Tensor:
        logits = functional_call(nets[0], own, (tokens, ids, answer.shape[1]))
        return answer_loss(logits, answer, None)

    gradients = vmap(grad(loss))
    while True:
        with sdpa_kernel(SDPBackend.MATH):
            found = gradients(weights, tokens, answers)
        for name, gradient in found.items():
            weights[name].grad = gradient
        optimizer.step()
        yield weights


def _problems(plan: Plan, rows: int) -> tuple[list[Transformer], Tensor, Tensor]:
    """A network, the (B,T) tokens and the (B,A) answers of a batch for each seed, stacked."""
    configs = [
        plan.config(f"seed={seed}", f"data.batch_size={rows}", "data.curriculum=fixed")
        for seed in range(SEEDS)
    ]
    experiments = [build(config) for config in configs]
    pairs = zip(configs, experiments, strict=True)
    samples = [batches(config, experiment)[0] for config, experiment in pairs]
    nets = [experiment.net for experiment in experiments]
    tokens = [arrange(sample, ask=nets[0].ask, causal=nets[0].shape.causal) for sample in samples]
    return nets, torch.stack(tokens), torch.stack([sample.answer for sample in samples])
