"""Flip-flop: a bit is written, ignored and read; say what is read."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.tried import tried_chance

WRITE, READ, IGNORE, ZERO, ONE = range(5)
TRIED = 16
"""Length up to which all texts are tried."""


class FlipFlop(Task):
    """Instructions with bits in; at every read `r` the bit that was written last is asked for.

        prompt  w 1 i 0 r 1 w 0 i 1 i 1 r
        answer  1 0

    Length is that of the text, T tokens, which is even; its last token, the bit of the last read,
    is hidden, so the prompt has T - 1. Order matters. Instructions and bits alternate. The first
    instruction is `w`, the last is `r`; the others are independent, `i` with probability `ignore`
    and `w` and `r` equally often else. Bits are uniform after `w` and `i`; after `r` stands the bit
    after the latest `w`. It is asked for in place, at the `r`, and the next token tells it: so only
    a network that cannot look ahead may be asked. Liu et al. 2023 (arXiv:2306.00946) train at
    T = 512 with 0.8, and test with 0.98 (sparse) and 0.1 (dense) as well.
    """

    vocabulary = Vocabulary("wri01")
    minimum = 4
    causal_only = True

    def __init__(self, *, ignore: float = 0.8) -> None:
        if not isinstance(ignore, float) or not 0 < ignore < 1:
            raise ConfigError(f"task.ignore={ignore}: must be a number between 0 and 1")
        self.ignore = ignore
        self.chance_error = 0.1 * (1 - ignore)

    def lengths(self, low: int, high: int) -> list[int]:
        """The even ones."""
        return [length for length in super().lengths(low, high) if length % 2 == 0]

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError for a length that is none of the task."""
        if length < self.minimum or length % 2:
            raise ConfigError(f"length {length}: flip_flop has even lengths, from 4 on")
        device, pairs = generator.device, length // 2
        luck = torch.rand(n, pairs, generator=generator, device=device)
        write, read = luck < (1 - self.ignore) / 2, luck >= (1 + self.ignore) / 2
        write[:, 0], write[:, -1] = True, False
        read[:, 0], read[:, -1] = False, True
        instructions = torch.where(write, WRITE, torch.where(read, READ, IGNORE))

        bits = torch.randint(ZERO, ONE + 1, (n, pairs), generator=generator, device=device)
        return self._reading(instructions, bits)

    def _reading(self, instructions: Tensor, bits: Tensor) -> Sample:
        """(n,T/2), (n,T/2) -> the problems, once every bit that is read is the one written last."""
        write, read = instructions == WRITE, instructions == READ
        place = torch.arange(bits.shape[1], device=bits.device)
        written = bits.gather(1, (write * place).cummax(dim=1).values)
        text = torch.stack([instructions, torch.where(read, written, bits)], dim=2).flatten(1)
        asked = self.asked(text)
        answer = text.roll(-1, dims=1).where(asked, 0)
        return Sample(text[:, :-1], answer[:, :-1], scored=asked[:, :-1], in_place=True)

    def asked(self, prompt: Tensor) -> Tensor:
        """At every read."""
        return prompt == READ

    def solve(self, prompt: list[int]) -> list[int]:
        instructions, bits = prompt[::2], prompt[1::2]
        alternate = {*instructions} <= {WRITE, READ, IGNORE} and {*bits} <= {ZERO, ONE}
        ends = instructions[:1] == [WRITE] and instructions[-1] == READ
        if not alternate or not ends or len(instructions) != len(bits) + 1:
            raise ValueError("the prompt is not instructions and bits in turn, from w to r")
        answer, stored = [], bits[0]
        for instruction, bit in zip(instructions, [*bits, None], strict=True):
            if instruction == WRITE and bit is not None:
                stored = bit
            if instruction == READ:
                answer.append(stored)
                if bit not in (stored, None):
                    raise ValueError("a bit that is read is not the one written last")
        return answer

    def chance(self, length: int) -> Chance:
        """Exact up to T = 16, where all texts are tried; beyond, see `_repeated`."""
        return self._try_all(length // 2) if length <= TRIED else self._repeated(length // 2)

    def _try_all(self, pairs: int) -> Chance:
        kinds = torch.cartesian_prod(torch.tensor([WRITE, IGNORE, READ]), torch.tensor([ZERO, ONE]))
        other, ignored = (1 - self.ignore) / 4, self.ignore / 2
        law = torch.tensor([other, other, ignored, ignored, 2 * other], dtype=torch.float64)
        first, last, middle = torch.arange(2), torch.tensor([4]), torch.arange(5)
        choice = torch.cartesian_prod(first, *[middle] * (pairs - 2), last)
        instructions, bits = kinds[choice].unbind(dim=2)
        prompt, answer, scored = self._reading(instructions, bits)[:3]
        assert scored is not None
        place = (~scored).long().argsort(dim=1, stable=True)  # the scored tokens come first
        problems = Sample(prompt, answer.gather(1, place), scored=scored.gather(1, place))
        return tried_chance(problems, law[choice].prod(dim=1))

    def _repeated(self, pairs: int) -> Chance:
        """Of a guess that says at every read the bit that is commoner in the bag.

        No guess is more often right by token, as far as texts were tried, up to T = 18. By exact
        match this one falls short where little is ignored: if there are many reads, some answer
        that is not constant is likelier.

        Say the commoner bit is 1, as by symmetry it may be called. A recursion over the visible
        pairs keeps, for either stored bit and every surplus of ones over zeros, three sums over all
        texts: their probability; that times the reads of 1; and the probability of those texts in
        which no read was of 0.
        """
        visible, write = pairs - 1, (1 - self.ignore) / 2
        sums = torch.zeros(3, 2, 2 * visible + 3, dtype=torch.float64)
        sums[0, 0, visible], sums[0, 1, visible + 2] = 0.5, 0.5  # the first pair writes
        sums[2] = sums[0]
        for _ in range(visible - 1):
            less, more = sums.roll(-1, dims=2), sums.roll(1, dims=2)
            after = self.ignore * (less + more) / 2
            after[:, 0] += write / 2 * less.sum(dim=1)
            after[:, 1] += write / 2 * more.sum(dim=1)
            after[:2, 0] += write * less[:2, 0]
            after[:, 1] += write * more[:, 1]
            after[1, 1] += write * more[0, 1]
            sums = after
        ones = sums[1].sum(dim=0) + sums[0, 1]  # after the last read
        weight = torch.zeros_like(ones).index_fill(0, torch.tensor([visible + 1]), 1.0)
        weight[visible + 2 :] = 2.0
        reads = 1 + write * (visible - 1)
        return Chance((sums[2, 1] @ weight).item(), (ones @ weight).item() / reads)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Gives the last read another bit, if that many others are ignored; else moves writes.

        In exchange for the bit that was written last, and for those read of it, as many others
        that were ignored. Else what follows a write, up to the next one, changes places as a whole.
        """
        instructions, bits = prompt[::2], prompt[1::2]
        write = (instructions == WRITE).nonzero().flatten()
        place = torch.arange(len(bits), device=prompt.device)
        block = (place >= write[-1]) & (instructions[:-1] != IGNORE)
        other = (instructions[:-1] == IGNORE) & (bits != bits[write[-1]])
        reordered = prompt.clone()
        if block.sum() <= other.sum():
            spared = other.nonzero().flatten()[: int(block.sum())]
            reordered[1::2][block], reordered[1::2][spared] = bits[spared], bits[block]
            return reordered
        parts = prompt[:-1].tensor_split((2 * write[1:]).tolist())
        order = torch.randperm(len(parts), generator=generator, device=generator.device)
        return torch.cat([*(parts[part] for part in order.tolist()), prompt[-1:]])
