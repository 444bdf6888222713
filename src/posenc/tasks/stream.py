"""A stream of tokens with a short and a long dependency: at every one, predict the next."""

import math

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.strings import check_whole, numbered, rearrange
from posenc.tasks.tried import tried_chance

TRIED = 100_000
"""Streams that are tried one by one; tokens of those that are drawn where there are more."""


class Stream(Task):
    """T tokens in; at each but the last, the next one is asked for, as in a model of language.

        prompt  3 4 4 6 6 7 7 1 1 2
        answer  4 4 6 6 7 7 1 1 2

    Length counts the tokens. Order matters. The first token is uniform over V symbols, and token t
    is x_t = (x_{t-1} + a_t) mod V. With probability `renew` the step a_t is fresh, drawn from 0,
    1, ..., V - 1 with weights 1, 1/2, ..., 1/V; else it is the step `distance` tokens ago. The
    first `distance` steps are all fresh. So the token before tells something of the next, and the
    two tokens that stand `distance` further back tell most of it.

    What follows is never sure, so the loss has a floor, see `floor`; in bits per token, with the
    defaults: 3.00 for a guess that knows nothing; 2.62 for a model that sees less than `distance`
    tokens back, and for any model of the first `distance` steps; 1.02 for the best model of all
    later ones. The task is this project's own.
    """

    minimum = 2
    causal_only = True
    certain = False
    chance_error = 1.0  # beyond what can be tried, chance is a lower bound

    def __init__(self, *, symbols: int = 8, distance: int = 4, renew: float = 0.2) -> None:
        self.vocabulary = numbered(symbols)
        self.distance = check_whole("task.distance", distance, 1)
        if not isinstance(renew, int | float) or not 0 < renew <= 1:
            raise ConfigError(f"task.renew={renew}: must be a number above 0, up to 1")
        self.renew = renew
        weights = 1 / torch.arange(1, symbols + 1, dtype=torch.float64)
        self.fresh = weights / weights.sum()

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for a length below 2."""
        if length < self.minimum:
            raise ConfigError(f"length {length}: a stream has at least 2 tokens")
        device, symbols = generator.device, len(self.vocabulary)
        rounds = math.ceil((length - 1) / self.distance)
        shape = (n, rounds, self.distance)
        luck = torch.rand(2, *shape, generator=generator, device=device)
        below = self.fresh.cumsum(dim=0)[:-1].float().to(device)
        drawn = torch.bucketize(luck[0], below, right=True)

        renewed = (luck[1] < self.renew) * torch.arange(rounds, device=device)[:, None]
        steps = drawn.gather(1, renewed.cummax(dim=1).values).flatten(1)[:, : length - 1]
        first = torch.randint(symbols, (n, 1), generator=generator, device=device)
        prompt = torch.cat([first, steps], dim=1).cumsum(dim=1) % symbols
        return self._asking(prompt)

    def _asking(self, prompt: Tensor) -> Sample:
        asked = self.asked(prompt)
        return Sample(prompt, prompt.roll(-1, dims=1).where(asked, 0), asked, in_place=True)

    def asked(self, prompt: Tensor) -> Tensor:
        """Everywhere but at the last token."""
        last = prompt.shape[1] - 1
        return (torch.arange(last + 1, device=prompt.device) < last).expand(prompt.shape)

    def solve(self, prompt: list[int]) -> list[int]:
        """What does follow: the best guess may be another."""
        if len(prompt) < self.minimum:
            raise ValueError("nothing follows in a stream of less than two tokens")
        return prompt[1:]

    def floor(self, place: int) -> float:
        """Bits per token of the best predictor of token place + 1 from tokens 0 ... place.

        It sees all steps so far. The next is drawn from p while steps are fresh, and after that
        from renew p + (1 - renew) 1[a], where the step a, `distance` ago, has the law p too.
        """
        if place < self.distance:
            return torch.special.entr(self.fresh).sum().item() / math.log(2)
        return (self.fresh @ torch.special.entr(self._after()).sum(dim=1)).item() / math.log(2)

    def _after(self) -> Tensor:
        """(V,V): the law of a step, for each step that may have been `distance` ago."""
        again = torch.eye(len(self.fresh), dtype=torch.float64)
        return self.renew * self.fresh + (1 - self.renew) * again

    def chance(self, length: int) -> Chance:
        """Exact for short streams, all of which are tried. Beyond, a lower bound and no more.

        The best guess would have to weigh all orders of the bag. Measured instead is the guess that
        repeats the commonest token of the bag. With 16 symbols and distance 8 it falls short of the
        best one by 0.07 of the tokens at 5 tokens, by 0.02 at 8, and by more where steps repeat,
        since orders in which they do stand out: by up to 0.4 at 20, as far as a search among them
        tells.
        """
        symbols = len(self.vocabulary)
        if symbols**length <= TRIED:
            return self._try_all(length)
        rows = TRIED // length
        prompt = self.sample(rows, length, torch.Generator().manual_seed(0)).prompt
        counts = torch.zeros(rows, symbols).scatter_add_(1, prompt, torch.ones(prompt.shape))
        right = prompt[:, 1:] == counts.argmax(dim=1, keepdim=True)
        return Chance(right.all(dim=1).double().mean().item(), right.double().mean().item())

    def _try_all(self, length: int) -> Chance:
        tokens = torch.arange(len(self.vocabulary))
        prompt = torch.cartesian_prod(*[tokens] * length)
        steps = prompt.diff(dim=1) % len(tokens)
        law = self.fresh[steps]
        if length > self.distance + 1:
            old, new = steps[:, : -self.distance], steps[:, self.distance :]
            law[:, self.distance :] = self._after()[old, new]
        return tried_chance(self._asking(prompt), law.prod(dim=1))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        return rearrange(prompt, generator)
