"""How well a final stack is guessed from the bits and the actions, but not from their order.

A bag tells how many bits k were given, and how many pushes u and pops p followed. With S the count
of pushes less pops so far, and M how far S sinks below 0 at the lowest, M of the given bits go, or
all, and u - p + M pushed ones stay on top of those that are left. By the reflection principle

    P(M >= x) = C(u + p, u + x) / C(u + p, u)    for x > p - u, and 1 for others,

as all orders of the actions are as likely. So are all orders of the given bits, and those of the
pushed ones: every one of them that stays is a 0 with the share of 0 among them.
"""

import torch
from torch import Tensor

from posenc.tasks.base import Chance


def blind_chance(prompts: Tensor) -> Chance:
    """(n,P) random prompts -> mean over their bags.

    `token` is what the best guess scores. `exact` is a bound from above: it adds up over M how
    likely the likeliest stack is, and stacks of one height need not be the same for all M. They
    have one height for all M up to k; for others every M has its own, and only one can be guessed.
    """
    length = prompts.shape[1]
    zeros, ones, pops, pushed_zeros, pushed_ones = (
        (prompts == token).sum(dim=1, keepdim=True).double() for token in range(5)
    )
    given, pushes = zeros + ones, pushed_zeros + pushed_ones
    gain, actions = pushes - pops, pushes + pops
    step = torch.arange(length + 2, dtype=torch.float64)

    def sinks(least: Tensor) -> Tensor:
        """How likely M is that large."""
        reflected = _log_choose(actions, pushes + least) - _log_choose(actions, pushes)
        return reflected.exp().where(least > -gain.clamp(max=0), 1)

    slot = step[:-1]
    on_top = sinks(slot + 1 - gain)
    filled = on_top.where(slot >= gain + given, 1)
    rest = filled - on_top
    end = torch.nn.functional.pad(filled[:, :-1], (1, 0), value=1) - filled
    bits = [
        on_top * pushed / pushes.clamp(min=1) + rest * alike / given
        for pushed, alike in ((pushed_zeros, zeros), (pushed_ones, ones))
    ]
    guessed = torch.stack([*bits, end]).amax(dim=0)
    token = guessed.sum() / (filled + end).sum()

    depth = sinks(step)
    sunk = depth[:, :-1] - depth[:, 1:]
    pushed = _likeliest(pushes, pushed_zeros, gain + slot)
    kept = _likeliest(given, zeros, given - slot)
    same = (sunk * pushed * kept).where(slot <= given, 0).sum(dim=1)
    others = (sunk * pushed).where(slot > given, 0).amax(dim=1)
    return Chance(torch.maximum(same, others).mean().item(), token.item())


def _likeliest(bits: Tensor, zeros: Tensor, shown: Tensor) -> Tensor:
    """The likeliest order of so many bits of a bag: the one that leaves most orders to the rest."""
    shown = shown.clamp(min=0).minimum(bits)
    hidden = bits - shown
    left = (hidden / 2).floor().maximum((zeros - shown).clamp(min=0)).minimum(zeros.minimum(hidden))
    return (_log_choose(hidden, left) - _log_choose(bits, zeros)).exp()


def _log_choose(total: Tensor, chosen: Tensor) -> Tensor:
    """The logarithm of how many ways there are; minus infinity for none."""
    inside = (chosen >= 0) & (chosen <= total)
    chosen = chosen.where(inside, 0)
    ways = total.add(1).lgamma() - chosen.add(1).lgamma() - (total - chosen).add(1).lgamma()
    return ways.where(inside, -torch.inf)
