"""Polynomial: put out the value of a polynomial modulo 10."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.blind import learned_chance
from posenc.tasks.shared.scratchpad import WORDS, check_scratchpad, deals, steps_chance, written
from posenc.tasks.shared.tried import tried_chance

MODULUS = 10
COEFFICIENT, ARGUMENT, DEGREE, PRODUCT = 3, 2, 3, 24
"""The largest of each, in absolute value."""
TRIED = 2
"""The most terms with which all problems are tried for an exact chance."""
TRIES = 32


class Polynomial(Task):
    """An argument and n terms in, the polynomial's last digit out; length counts the terms.

        prompt  2 : 3 x^2 + -1 x^0 + 0 x^3
        answer  1

    That is 3 * 4 - 1 * 1 + 0 * 8 = 11. Order matters: that of the terms does not, but a bag of
    tokens tells neither the argument nor which coefficient has which power. The argument is
    uniform over -2 ... 2, coefficients over -3 ... 3, degrees over 0 ... 3; they come in any order
    and may come again; 0^0 is 1, and the answer is never negative: Kazemnejad et al. 2023
    (arXiv:2305.19466), who train on up to 8 terms and test on up to 16. A number with its sign is
    one token here, two or more there.

    `scratchpad=true` puts out all steps before the answer, from the first term to the last, with
    the value so far as running value, in the one of many formats of that paper that has all parts:

        in 3 x^2 comp 3 * 4 out 12 [ 0 + 12 -> 2 ] re -1 x^0 0 x^3 #
        in -1 x^0 comp -1 * 1 out -1 [ 2 + -1 -> 1 ] re 0 x^3 #
        in 0 x^3 comp 0 * 8 out 0 [ 1 + 0 -> 1 ] re answer 1

    All problems of n terms then have 18n + n(n - 1) + 1 tokens to put out, 741 for 20 and 11701
    for 100. Exact match and token accuracy count the steps and the answer.
    """

    chance_error = 0.03

    def __init__(self, *, scratchpad: bool = False) -> None:
        self.scratchpad = check_scratchpad(scratchpad)
        coefficients = range(-COEFFICIENT, COEFFICIENT + 1)
        numbers = {*coefficients, *range(MODULUS)}
        if scratchpad:
            powers = {x**k for x in range(-ARGUMENT, ARGUMENT + 1) for k in range(DEGREE + 1)}
            numbers |= {c * power for c in coefficients for power in powers}
        names = [*map(str, sorted(numbers)), *(f"x^{k}" for k in range(DEGREE + 1)), ":", "+"]
        words = ("*", *WORDS) if scratchpad else ()
        self.vocabulary = Vocabulary([*names, *words])
        self.power = len(numbers)
        self.colon, self.plus = len(names) - 2, len(names) - 1
        self._token = torch.zeros(2 * PRODUCT + 1, dtype=torch.int64)
        self._token[torch.tensor(sorted(numbers)) + PRODUCT] = torch.arange(len(numbers))
        self._number = torch.tensor(sorted(numbers))

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        argument, coefficients, degrees = self._drawn(n, length, generator)
        return self._posed(argument, coefficients, degrees)

    def _drawn(
        self, n: int, length: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """-> (n,1) arguments, (n,T) coefficients, (n,T) degrees."""
        ranges = [
            (-ARGUMENT, ARGUMENT, 1),
            (-COEFFICIENT, COEFFICIENT, length),
            (0, DEGREE, length),
        ]
        argument, coefficients, degrees = (
            torch.randint(low, high + 1, (n, size), generator=generator, device=generator.device)
            for low, high, size in ranges
        )
        return argument, coefficients, degrees

    def _posed(self, argument: Tensor, coefficients: Tensor, degrees: Tensor) -> Sample:
        rows, length = coefficients.shape
        prompt = degrees.new_full((rows, 1 + 3 * length), self.plus)
        prompt[:, 0] = self._named(argument[:, 0])
        prompt[:, 1] = self.colon
        prompt[:, 2::3] = self._named(coefficients)
        prompt[:, 3::3] = self.power + degrees
        columns = self._columns(argument, coefficients, degrees)
        total = columns[-1][:, -1:]
        return Sample(prompt, self._steps(columns, total) if self.scratchpad else total)

    def _named(self, numbers: Tensor) -> Tensor:
        return self._token.to(numbers.device)[numbers + PRODUCT]

    def _columns(self, argument: Tensor, coefficients: Tensor, degrees: Tensor) -> list[Tensor]:
        """-> (n,T) each: what a step shows that depends on the terms; the running value last."""
        powers = argument**degrees
        products = coefficients * powers
        after = products.cumsum(dim=1) % MODULUS
        if not self.scratchpad:
            return [self._named(after)]
        before = after.roll(1, dims=1)
        before[:, 0] = 0
        named = [self._named(x) for x in (coefficients, powers, products, before, after)]
        coefficient, power, product, earlier, later = named
        term = [coefficient, self.power + degrees]
        return [*term, coefficient, power, product, earlier, product, later]

    def _steps(self, columns: list[Tensor], total: Tensor) -> Tensor:
        """(n,T) columns, (n,1) the answer -> all tokens."""
        times, into, comp, out, opens, becomes, closes, rest, separator, answer = range(
            self.plus + 1, len(self.vocabulary)
        )
        coefficient, power, _, value, product, before, _, after = columns
        place = torch.arange(coefficient.shape[1], device=coefficient.device)
        terms = torch.stack([coefficient, power], dim=2).flatten(1)
        shown: list[Tensor | int] = [into, coefficient, power, comp, coefficient, times, value]
        shown += [out, product, opens, before, self.plus, product, becomes, after, closes, rest]
        steps = written(
            shown,
            terms[:, None].expand(-1, len(place), -1),
            place.repeat_interleave(2) > place[:, None],
            separator=separator,
        )
        return torch.cat([steps, torch.full_like(total, answer), total], dim=1)

    def solve(self, prompt: list[int]) -> list[int]:
        names = self.vocabulary.decode(prompt).split()
        lead, signs, degrees = names[:2], names[2::3], names[3::3]
        if (
            len(names) < 4
            or len(names) % 3 != 1
            or lead[0] not in map(str, range(-ARGUMENT, ARGUMENT + 1))
            or lead[1] != ":"
            or not set(signs) <= set(map(str, range(-COEFFICIENT, COEFFICIENT + 1)))
            or not set(degrees) <= {f"x^{k}" for k in range(DEGREE + 1)}
            or not set(names[4::3]) <= {"+"}
        ):
            raise ValueError("the prompt is not an argument, :, and terms, joined by +")
        argument, total = int(lead[0]), 0
        terms = list(zip(map(int, signs), (int(degree[2:]) for degree in degrees), strict=True))
        words: list[object] = []
        for step, (sign, degree) in enumerate(terms, start=1):
            power = argument**degree
            value = sign * power
            later = (total + value) % MODULUS
            words += ["in", sign, f"x^{degree}", "comp", sign, "*", power, "out", value]
            words += ["[", total, "+", value, "->", later, "]", "re"]
            words += [word for c, k in terms[step:] for word in (c, f"x^{k}")] + ["#"]
            total = later
        shown = [*words[:-1], "answer", total] if self.scratchpad else [total]
        return self.vocabulary.encode(" ".join(map(str, shown)))

    def chance(self, length: int) -> Chance:
        """Exact for one and two terms, else estimated: see `learned_chance` and `steps_chance`."""
        if length <= TRIED:
            return tried_chance(self._posed(*self._every(length)))
        bags, each = deals(8 * length if self.scratchpad else length)
        stream = torch.Generator().manual_seed(length)
        drawn = [x.repeat_interleave(each, dim=0) for x in self._drawn(bags, length, stream)]
        columns = self._columns(*_dealt(*drawn, generator=stream))
        if not self.scratchpad:
            return learned_chance(columns[-1][:, -1:].view(bags, each, 1))
        return steps_chance(torch.stack(columns, dim=2).view(bags, each, length, -1), 2, fixed=9)

    def _every(self, length: int) -> tuple[Tensor, Tensor, Tensor]:
        ranges = [torch.arange(-ARGUMENT, ARGUMENT + 1)]
        ranges += [torch.arange(-COEFFICIENT, COEFFICIENT + 1)] * length
        ranges += [torch.arange(DEGREE + 1)] * length
        every = torch.cartesian_prod(*ranges)
        return every[:, :1], every[:, 1 : length + 1], every[:, length + 1 :]

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Deals numbers and powers anew, so that the answer changes, wherever a few tries do."""
        number = self._number.to(prompt.device)
        numbers = [number[prompt[:1]], number[prompt[2::3]], prompt[3::3] - self.power]
        given = [x.expand(TRIES, -1) for x in numbers]
        dealt = _dealt(*given, generator=generator)
        posed = self._posed(*(torch.cat([x, y[:1]]) for x, y in zip(dealt, given, strict=True)))
        moved, changed = ((field != field[-1]).any(dim=1) for field in posed[:2])
        return posed.prompt[(moved.long() + changed).argmax()]


def _dealt(
    argument: Tensor, coefficients: Tensor, degrees: Tensor, *, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Exchanges numbers and degrees of a row at random, so that all problems are as likely."""
    numbers = torch.cat([argument, coefficients], dim=1)
    choice, noise, luck = (
        torch.rand(x.shape, generator=generator, device=generator.device)
        for x in (numbers, numbers, degrees)
    )
    first = (choice + (numbers.abs() > ARGUMENT)).argmin(dim=1, keepdim=True)
    numbers = numbers.gather(1, noise.scatter(1, first, -1.0).argsort(dim=1))
    return numbers[:, :1], numbers[:, 1:], degrees.gather(1, luck.argsort(dim=1))
