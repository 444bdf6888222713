"""Missing duplicate: put out the bit that is hidden in a string written twice."""

import torch
from torch import Tensor

from posenc.tasks.base import Chance, Sample, Task, Vocabulary

HIDDEN, FILLED = 2, 3


class MissingDuplicate(Task):
    """n // 2 bits, written twice with one bit hidden, in; that bit out; length counts the tokens.

        prompt  0 1 1 0 _ 1
        answer  1

    Order does not matter, though a network is meant to look at the same place of the other copy:
    the whole string has an even number of ones, so the answer is the parity of those that are seen,
    and the task a parity in disguise. `_` stands at any of the 2 (n // 2) places, all as likely;
    an odd length ends with the token `.`. Bits are independent and uniform: Delétang et al. 2022
    (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843), who train on up to 40 tokens and test
    on up to 500. They have a length 1 as well, whose prompt is its answer.
    """

    minimum = 2
    order_matters = False
    vocabulary = Vocabulary("01_.")

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        half, device = length // 2, generator.device
        bits = torch.randint(2, (n, half), generator=generator, device=device)
        hidden = torch.randint(2 * half, (n, 1), generator=generator, device=device)
        prompt = torch.cat([bits, bits, bits.new_full((n, length % 2), FILLED)], dim=1)
        answer = prompt.gather(1, hidden)
        return self.marked(Sample(prompt.scatter_(1, hidden, HIDDEN), answer))

    def marked(self, sample: Sample) -> Sample:
        """Couples bit t = 1, 2, ... of both copies by the id 1 + t; `?` and the answer have 1."""
        length = sample.prompt.shape[1]
        ids = torch.zeros(length + 2, dtype=torch.int64, device=sample.prompt.device)
        half = length // 2
        ids[:half] = ids[half : 2 * half] = torch.arange(2, half + 2, device=ids.device)
        ids[-2:] = 1
        return sample._replace(coordinates=ids[None, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        text = self.vocabulary.decode(prompt).replace(" ", "")
        half = len(text) // 2
        copies, rest = (text[:half], text[half : 2 * half]), text[2 * half :]
        fits = all("_" in pair or pair[0] == pair[1] for pair in zip(*copies, strict=True))
        if not fits or text.count("_") != 1 or rest not in ("", ".") or "." in text[: 2 * half]:
            raise ValueError("the prompt is not bits written twice with one bit hidden")
        (pair,) = (pair for pair in zip(*copies, strict=True) if "_" in pair)
        return self.vocabulary.encode(pair[1] if pair[0] == "_" else pair[0])

    def chance(self, length: int) -> Chance:
        """One half: the hidden bit is uniform, and the length tells nothing of it."""
        return Chance(0.5, 0.5)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Exchanges the copies and puts the bits of both into one other order."""
        half = len(prompt) // 2
        order = torch.randperm(half, generator=generator, device=generator.device)
        copies = prompt[: 2 * half].view(2, half).flip(0)[:, order]
        return torch.cat([copies.flatten(), prompt[2 * half :]])
