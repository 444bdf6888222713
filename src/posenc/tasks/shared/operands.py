"""Two numbers as digits: drawn, all of them, and dealt anew from the bag of their digits."""

from typing import NamedTuple

import torch
from torch import Tensor


class Operands(NamedTuple):
    """Pairs of numbers of so many digits: (n,2,L), least significant first, zeros beyond a size."""

    base: int
    sizes: tuple[int, int]
    padded: bool
    """Whether a number may begin with zeros."""
    falling: bool
    """Whether the larger number comes first."""

    def drawn(self, n: int, generator: torch.Generator) -> Tensor:
        """-> (n,2,L): two uniform numbers."""
        shape, device = (n, 2, max(self.sizes)), generator.device
        numbers = torch.randint(self.base, shape, generator=generator, device=device)
        if not self.padded:
            leads = torch.randint(1, self.base, (n, 2), generator=generator, device=device)
        for number, size in enumerate(self.sizes):
            numbers[:, number, size:] = 0
            if not self.padded:
                numbers[:, number, size - 1] = leads[:, number]
        return self._ordered(numbers)

    def every(self) -> Tensor:
        """-> (N,2,L): all pairs of numbers, each as often as it is drawn."""
        bags = torch.cartesian_prod(*[torch.arange(self.base)] * sum(self.sizes))
        return self._placed(bags if self.padded else bags[bags[:, :2].all(dim=1)])

    def bags(self, numbers: Tensor) -> Tensor:
        """(n,2,L) -> (n,D): all their digits, both leading ones first."""
        return numbers.flatten(1)[:, self._cells()]

    def dealt(self, bags: Tensor, generator: torch.Generator) -> Tensor:
        """(n,D) -> (n,2,L): two numbers of these digits, each pair as likely as if it was drawn."""
        noise = torch.rand(bags.shape, generator=generator, device=generator.device)
        if not self.padded:
            choice = torch.rand(bags.shape, generator=generator, device=generator.device)
            leads = (choice - bags.ne(0).float()).argsort(dim=1)[:, :2]
            noise.scatter_(1, leads[:, :1], -2.0).scatter_(1, leads[:, 1:], -1.0)
        return self._placed(bags.gather(1, noise.argsort(dim=1)))

    def _placed(self, bags: Tensor) -> Tensor:
        numbers = bags.new_zeros(len(bags), 2 * max(self.sizes))
        numbers[:, self._cells()] = bags
        return self._ordered(numbers.view(len(bags), 2, -1))

    def _ordered(self, numbers: Tensor) -> Tensor:
        """Exchanges two numbers of a row that do not fall, but should."""
        if not self.falling:
            return numbers
        more = numbers[:, 0] - numbers[:, 1]
        place = torch.arange(more.shape[1], device=more.device)
        highest = (more.ne(0) * place).argmax(dim=1, keepdim=True)
        return numbers.flip(1).where(more.gather(1, highest)[..., None] < 0, numbers)

    def _cells(self) -> list[int]:
        first, second = self.sizes
        start = max(self.sizes)
        leads = [first - 1, start + second - 1]
        return [*leads, *range(first - 1), *range(start, start + second - 1)]
