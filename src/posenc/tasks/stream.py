"""A stream of tokens with a short and a long dependency: at every one, predict the next."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import check_whole, numbered, rearrange

DRAWN = 200_000
"""Tokens that are drawn to estimate something."""


class Stream(Task):
    """T tokens in; at each but the last the next one is asked for, as in a model of language.

        prompt  3 4 6 7 8 9 10 12 3 4 6 7 8
        answer  4 6 7 8 9 10 12 3 4 6 7 8

    Length counts the tokens. Order matters. The first token is uniform over V symbols. With
    probability 1 - `renew` a token repeats the one `distance` before it, if that exists; else it
    is the last token plus 1, 2, ..., V (modulo V) with probabilities in proportion to 1/2, 1/4,
    ..., 1/2^V. So a nearby token tells something of the next, and a far one most of it.

    What follows is never sure, and the loss in bits a token is what to look at: with the defaults
    4 for a guess that knows nothing, 2.0 for the best predictor of the first `distance` tokens,
    and 1.1 to 1.4 for that of all others, see `floor`. Exact match and token accuracy look only at
    tokens that are those of `distance` before, which the best predictor gets right, one and all.

    The task is this project's own.
    """

    causal_only = True
    chance_error = 1.0

    def __init__(self, *, symbols: int = 16, distance: int = 8, renew: float = 0.3) -> None:
        self.vocabulary = numbered(symbols)
        self.distance = check_whole("task.distance", distance, 1)
        if not isinstance(renew, int | float) or not 0 < renew < 0.6:
            raise ConfigError(f"task.renew={renew}: must be a number above 0 and below 0.6")
        self.renew = renew
        self.minimum = self.distance + 2
        weights = 0.5 ** torch.arange(1, symbols + 1, dtype=torch.float64)
        self.steps = weights / weights.sum()
        """(V,) probabilities of going on by 1, 2, ..., V."""

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for a length that leaves nothing to repeat."""
        if length < self.minimum:
            raise ConfigError(f"length {length}: a stream has at least {self.minimum} tokens")
        device, symbols, back = generator.device, len(self.vocabulary), self.distance
        luck = torch.rand(2, length, n, generator=generator, device=device)
        below = self.steps.cumsum(dim=0)[:-1].float().to(device)
        on = torch.bucketize(luck[0], below, right=True) + 1
        again = luck[1] >= self.renew
        first = torch.randint(symbols, (n,), generator=generator, device=device)
        tokens = list((on[1:back].cumsum(dim=0) + first).unbind())
        tokens.insert(0, first)
        for place in range(back, length):
            tokens.append(torch.where(again[place], tokens[-back], tokens[-1] + on[place]))
        prompt = torch.stack(tokens, dim=1) % symbols
        asked = self.asked(prompt)
        answer = prompt.roll(-1, dims=1).where(asked, 0)
        return self.marked(Sample(prompt, answer, asked, in_place=True))

    def asked(self, prompt: Tensor) -> Tensor:
        """Everywhere but at the last token."""
        last = prompt.shape[1] - 1
        return (torch.arange(last + 1, device=prompt.device) < last).expand(prompt.shape)

    def marked(self, sample: Sample) -> Sample:
        """Judges the answers that are the tokens `distance` before them."""
        judged = torch.zeros_like(sample.prompt, dtype=torch.bool)
        back = self.distance
        judged[:, back - 1 : -1] = sample.prompt[:, back:] == sample.prompt[:, :-back]
        return sample._replace(judged=judged)

    def solve(self, prompt: list[int]) -> list[int]:
        """What does follow: the best guess may be another."""
        if len(prompt) < self.minimum:
            raise ValueError(f"a stream has at least {self.minimum} tokens")
        return prompt[1:]

    def floor(self, place: int) -> float:
        """Bits that the best predictor of token place + 1 needs, from tokens 0 ... place.

        Exact for the first `distance` tokens. Beyond, it knows the two tokens that matter, and its
        uncertainty is averaged over drawn streams, which differ less and less.
        """
        on = torch.special.entr(self.steps).sum()
        if place + 1 < self.distance:
            return on.item() / math.log(2)
        place = min(place, 4 * self.distance)
        streams = torch.Generator().manual_seed(0)
        prompt = self.sample(DRAWN // (place + 2), max(place + 2, self.minimum), streams).prompt
        step = (prompt[:, place + 1 - self.distance] - prompt[:, place] - 1) % len(self.steps)
        fresh = self.renew * self.steps
        other = torch.special.entr(fresh).sum() - torch.special.entr(fresh)
        nats = other + torch.special.entr(fresh + 1 - self.renew)
        return nats[step].mean().item() / math.log(2)

    def chance(self, length: int) -> Chance:
        """That of a guess of the commonest token of the bag, estimated: the best one is better.

        How much a bag tells of what is repeated when is not known. The guess knows all tokens of
        the text, later ones included.
        """
        streams = torch.Generator().manual_seed(0)
        sample = self.sample(DRAWN // length, length, streams)
        commonest = sample.prompt.mode(dim=1, keepdim=True).values
        assert sample.judged is not None
        right = sample.judged & (sample.answer == commonest)
        exact = (right == sample.judged).all(dim=1).double().mean().item()
        return Chance(exact, (right.sum() / sample.judged.sum()).item())

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
