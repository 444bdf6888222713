"""Stack manipulation: what is left on a stack after pops and pushes."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.stack_chance import blind_chance
from posenc.tasks.shared.strings import ended, shuffled
from posenc.tasks.shared.tried import tried_chance

SYMBOLS = 2
POP, PUSH, _, END = range(SYMBOLS, SYMBOLS + 4)
"""`PUSH` plus a symbol pushes it."""
TRIED = 9
"""The longest prompts that are all tried."""


class StackManipulation(Task):
    """A stack and actions in, the final stack out; length counts the tokens of the prompt.

        prompt  0 1 1 pop push0 push0 pop
        answer  0 1 0 end

    Order matters. The stack is given from its bottom to its top and put out from its top to its
    bottom; `end` follows. Actions are done from left to right, and `pop` does nothing to an empty
    stack. A prompt of n tokens has 1 to n - 1 bits of a stack, each number as likely (1 if n = 1),
    and then actions. Bits and the three actions are uniform and independent: Delétang et al. 2022
    (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843).
    """

    vocabulary = Vocabulary(["0", "1", "pop", "push0", "push1", "end"])
    chance_error = 0.01

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        device = generator.device
        bits = torch.randint(SYMBOLS, (n, length), generator=generator, device=device)
        actions = torch.randint(POP, END, (n, length), generator=generator, device=device)
        given = torch.randint(1, max(length, 2), (n, 1), generator=generator, device=device)
        place = torch.arange(length, device=device)
        prompt = bits.where(place < given, actions)
        return Sample(prompt, *_final(prompt))

    def solve(self, prompt: list[int]) -> list[int]:
        stack: list[int] = []
        acting = False
        for token in prompt:
            if token == POP:
                stack = stack[:-1]
            elif POP < token < END:
                stack.append(token - PUSH)
            elif token >= SYMBOLS or acting:
                raise ValueError("the prompt is not a stack of bits with actions after it")
            else:
                stack.append(token)
            acting = token >= POP
        if not prompt or prompt[0] >= POP:
            raise ValueError("the prompt does not begin with a stack of bits")
        return [*stack[::-1], END]

    def room(self, prompt: list[int]) -> int:
        """One more than the tokens of the prompt, as if all were pushes."""
        return len(prompt) + 1

    def chance(self, length: int) -> Chance:
        """Exact up to 9 tokens, where all prompts are tried; beyond, see `blind_chance`."""
        if length > TRIED:
            rows = max(500, 60_000 // length)
            return blind_chance(self.sample(rows, length, torch.Generator().manual_seed(0)).prompt)
        prompts, likely = [], []
        for given in range(1, max(length, 2)):
            tokens = [torch.arange(SYMBOLS)] * given + [torch.arange(POP, END)] * (length - given)
            part = torch.cartesian_prod(*tokens).view(-1, length)
            prompts.append(part)
            likely.append(torch.full((len(part),), 1 / len(part), dtype=torch.float64))
        prompt = torch.cat(prompts)
        return tried_chance(Sample(prompt, *_final(prompt)), torch.cat(likely))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Shuffles the bits of the stack, and the actions, among themselves."""
        return shuffled(prompt[None], (prompt >= POP)[None].long(), generator)[0]


def _final(prompts: Tensor) -> tuple[Tensor, Tensor]:
    """(n,P) -> (n,P+1) answers and what of them is scored.

    The stack is as high as what comes less what goes, and for every pop of an empty stack one more:
    as many as the lowest value of that count lies below 0. A symbol stays if the stack never again
    is lower than with this one on its top.
    """
    rows, length = prompts.shape
    pop = prompts == POP
    count = (1 - 2 * pop.long()).cumsum(dim=1)
    height = count - count.cummin(dim=1).values.clamp(max=0)
    lowest = height.flip(1).cummin(dim=1).values.flip(1)
    stays = ~pop & (lowest == height)
    size = height[:, -1]
    below = (size[:, None] - height).where(stays, length)  # of the top; else where the end may come
    tokens = prompts.new_zeros(rows, length + 1)
    tokens.scatter_(1, below, prompts.where(prompts < POP, prompts - PUSH))
    return ended(tokens, size, END)
