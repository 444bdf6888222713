"""Sort: put out symbols, or numbers of several digits, in ascending order."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.bucket_sort import BucketSort
from posenc.tasks.shared.blind import learned_chance
from posenc.tasks.shared.scratchpad import check_scratchpad, deals, written
from posenc.tasks.shared.strings import arrangement_chance, shuffled
from posenc.tasks.shared.tried import tried_chance

SYMBOLS = 50
RANK = [17 * symbol % SYMBOLS for symbol in range(SYMBOLS)]
"""Of every symbol: an order that its name does not tell."""
LOWEST, PLACES = 10, (1000, 100, 10, 1)
"""The least number, and the worth of its digits."""
TRIES = 16
WORDS = ("in", "out", "re", "#", "answer")


class Sort(Task):
    """n items in, the same n items out, sorted; length counts the items.

        prompt  s1 s3 s6 s3 s0
        answer  s0 s3 s3 s6 s1

    Order does not matter; that of the answer does, as in `bucket_sort`. Items are independent and
    uniform. `digits=1`: 50 symbols of one token each, with a fixed rank that is no order of their
    names: s0 s3 s6 s9 ... s48 s1 s4 ... s49 s2 s5 ... s47. `digits=4`: the numbers 10 ... 9999,
    filled up with zeros to 4 digits, one token each. There the order matters: a bag of digits does
    not tell the numbers. Kazemnejad et al. 2023 (arXiv:2305.19466), who fill up nothing, train on
    up to 8 items and test on up to 16.

    `scratchpad=true` puts out all steps of a selection sort before the answer: the item in front of
    those not sorted yet, the least of them, and what is left when the two have changed places:

        in s1 out s0 re s3 s6 s3 s1 #
        in s3 out s3 re s6 s3 s1 #
        in s6 out s3 re s6 s1 #
        in s6 out s6 re s1 #
        in s1 out s1 re answer s0 s3 s3 s6 s1

    Items of d tokens need 4n + dn(n - 1)/2 + 3dn tokens: with 20 items 330 or 1080, with 100 items
    5650 or 21400. Exact match and token accuracy count the steps and the answer; and the order of
    the items matters, as the steps show it.
    """

    order_matters = False

    def __init__(self, *, digits: int = 1, scratchpad: bool = False) -> None:
        if type(digits) is not int or digits not in (1, len(PLACES)):
            raise ConfigError(f"task.digits={digits}: must be 1 or {len(PLACES)}")
        self.digits = digits
        self.scratchpad = check_scratchpad(scratchpad)
        self.order_matters = scratchpad or digits > 1
        self.chance_error = 0.03 if self.order_matters else 0.0
        items = [f"s{symbol}" for symbol in range(SYMBOLS)] if digits == 1 else map(str, range(10))
        self.vocabulary = Vocabulary([*items, *(WORDS if scratchpad else ())])
        self._by_rank = torch.tensor(RANK).argsort()
        self._worth = torch.tensor(PLACES[-digits:])

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        return self._posed(self._drawn((n, length), generator))

    def _drawn(self, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
        """-> items by what they are sorted by: their rank, or their value."""
        low, end = (0, SYMBOLS) if self.digits == 1 else (LOWEST, 10 * PLACES[0])
        return torch.randint(low, end, shape, generator=generator, device=generator.device)

    def _posed(self, items: Tensor) -> Sample:
        prompt, answer = (self._named(x).flatten(1) for x in (items, items.sort(dim=1).values))
        return Sample(prompt, self._steps(items, answer) if self.scratchpad else answer)

    def _named(self, items: Tensor) -> Tensor:
        """(...) -> (...,digits) tokens."""
        if self.digits == 1:
            return self._by_rank.to(items.device)[items][..., None]
        return items[..., None] // self._worth.to(items.device) % 10

    def _steps(self, items: Tensor, answer: Tensor) -> Tensor:
        """(n,T) items, (n,A) the answer -> all tokens."""
        into, out, rest, separator, last = range(
            len(self.vocabulary) - len(WORDS), len(self.vocabulary)
        )
        unsorted = items.clone()
        fronts: list[Tensor] = []
        states: list[Tensor] = []
        for step in range(items.shape[1]):
            least, place = unsorted[:, step:].min(dim=1, keepdim=True)
            front = unsorted[:, step : step + 1].clone()
            unsorted.scatter_(1, step + place, front)
            unsorted[:, step : step + 1] = least
            fronts.append(front)
            states.append(self._named(unsorted).flatten(1))
        place = torch.arange(items.shape[1], device=items.device)
        columns: list[Tensor | int] = [into, *self._named(torch.cat(fronts, dim=1)).unbind(dim=2)]
        columns += [out, *self._named(unsorted).unbind(dim=2), rest]
        steps = written(
            columns,
            torch.stack(states, dim=1),
            place.repeat_interleave(self.digits) > place[:, None],
            separator=separator,
        )
        return torch.cat([steps, torch.full_like(steps[:, :1], last), answer], dim=1)

    def solve(self, prompt: list[int]) -> list[int]:
        size = self.digits
        items = [prompt[start : start + size] for start in range(0, len(prompt), size)]
        known = all(token < (SYMBOLS if size == 1 else 10) for token in prompt)
        if not prompt or len(prompt) % size or not known:
            raise ValueError("the prompt is not items of this task")
        if size > 1 and any(item[:3] == [0, 0, 0] for item in items):
            raise ValueError(f"the prompt holds a number below {LOWEST}")

        def rank(item: list[int]) -> list[int]:
            return [RANK[item[0]]] if size == 1 else item

        tokens = self.vocabulary.encode
        steps: list[int] = []
        left = list(items)
        found: list[list[int]] = []
        while self.scratchpad and left:
            least = min(range(len(left)), key=lambda place: rank(left[place]))
            steps += [*tokens("in"), *left[0], *tokens("out"), *left[least], *tokens("re")]
            found.append(left[least])
            left[least] = left[0]
            left = left[1:]
            steps += [*_joined(left), *tokens("#" if left else "answer")]
        return [*steps, *_joined(found if self.scratchpad else sorted(items, key=rank))]

    def chance(self, length: int) -> Chance:
        """Of single symbols, see `BucketSort` for the answer alone, `arrangement_chance` for all
        steps: nearly each order has its own. Of numbers: exact for one of them, else estimated.

        Tokens of steps are guessed by the law of the digits of what is left, the largest items in
        any order. Where digits are dealt anew, some numbers are below 10, as none of a prompt is.
        """
        if self.digits == 1 and not self.scratchpad:
            return BucketSort(symbols=SYMBOLS).chance(length)
        stream = torch.Generator().manual_seed(length)
        if length == 1:
            every = torch.arange(SYMBOLS) if self.digits == 1 else torch.arange(LOWEST, 10_000)
            return tried_chance(self._posed(every[:, None]))
        bags, each = deals(length * self.digits)
        if self.digits == 1:
            items = self._drawn((bags, length), stream)[:, None]
            exact = arrangement_chance(length, SYMBOLS).exact
            named = self._named(items.sort(dim=2).values)
            return Chance(exact, self._steps_chance(named, named))
        digits = self._named(self._drawn((bags, length), stream)).flatten(1)
        digits = digits.repeat_interleave(each, dim=0)
        dealt = shuffled(digits, torch.zeros(1, 1, dtype=torch.int64), stream)
        values = (dealt.view(-1, length, self.digits) * self._worth).sum(dim=2)
        named = self._named(values.sort(dim=1).values).view(bags, each, length, self.digits)
        chance = learned_chance(named.flatten(2))
        if not self.scratchpad:
            return chance
        return Chance(chance.exact, self._steps_chance(*named.chunk(2, dim=1)))

    def _steps_chance(self, met: Tensor, asked: Tensor) -> float:
        """(b,d,T,digits) tokens of sorted items, deals that are known and others -> of tokens.

        The items that are left in a step are the largest ones.
        """
        laws = [
            torch.nn.functional.one_hot(x, len(self.vocabulary)).double().mean(dim=1)
            for x in (met, asked)
        ]
        steps = laws[0].shape[1]
        ranked, largest = (
            seen.gather(3, known.argmax(dim=3, keepdim=True)).sum(dim=(2, 3)).mean(dim=0)
            for known, seen in (laws, [law.flip(1).cumsum(dim=1) for law in laws])
        )
        items = torch.arange(1, steps + 1)
        right = 2 * ranked.sum() + (largest / items).sum() + largest[:-1].sum() + 4 * steps
        total = 4 * steps + self.digits * (3 * steps + steps * (steps - 1) // 2)
        return (right / total).item()

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Another order of the items, or of their digits, wherever a few tries find one."""
        places = torch.arange(len(prompt), device=prompt.device) % self.digits
        tries = prompt.expand(TRIES, -1)
        orders = [shuffled(tries, kinds[None], generator) for kinds in (places * 0, places)]
        every = torch.cat([*orders, prompt[None]])
        worth = self._worth.to(prompt.device)
        items = (every.view(len(every), -1, self.digits) * worth).sum(dim=2)
        ordered = items.sort(dim=1).values
        moved, changed = ((x != x[-1]).any(dim=1).long() for x in (every, ordered))
        legal = (items >= (LOWEST if self.digits > 1 else 0)).all(dim=1)
        return every[(legal * (1 + moved + changed)).argmax()]


def _joined(items: list[list[int]]) -> list[int]:
    return [token for item in items for token in item]
