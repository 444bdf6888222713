"""Selective copy: put out the data, in order, and leave out the noise between."""

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task
from posenc.tasks.shared.strings import arrangement_chance, check_whole, numbered, rearrange


class SelectiveCopy(Task):
    """Data at random places among noise in, the data out, in the same order.

        prompt  . 3 . . 0 14 . 3 .
        answer  3 0 14 3

    Length counts the tokens of the prompt; how many of them are `data` stays the same, 4 by
    default, so longer prompts have more noise. Order matters. Data are independent and uniform over
    the symbols, all places for them are as likely, and noise is one symbol more. Gu & Dao 2023
    (arXiv:2312.00752) have 16 data in 4096 places and 16 symbols, noise included, after Jing et al.
    2017 (arXiv:1706.02761).
    """

    def __init__(self, *, symbols: int = 15, data: int = 4) -> None:
        self.minimum = check_whole("task.data", data, 2)
        self.vocabulary = numbered(symbols, ".")
        self.noise = symbols

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where the data have no room."""
        data = self.minimum
        if length < data:
            raise ConfigError(f"length {length}: too short for task.data={data}")
        device = generator.device
        answer = torch.randint(self.noise, (n, data), generator=generator, device=device)
        places = torch.rand(n, length, generator=generator, device=device).topk(data).indices
        prompt = answer.new_full((n, length), self.noise)
        prompt.scatter_(1, places.sort(dim=1).values, answer)
        return self.marked(Sample(prompt, answer))

    def marked(self, sample: Sample) -> Sample:
        """Couples data token t = 1, 2, ... of the prompt and of the answer by the id 1 + t; `?` has
        1 and noise has 0.

        That is Cho et al. 2024, arXiv:2405.20671, in copying, with the noise left out.
        """
        data = sample.prompt != self.noise
        told = torch.where(data, data.long().cumsum(dim=1) + 1, 0)
        ids = torch.arange(1, sample.answer.shape[1] + 2, device=told.device)
        coupled = torch.cat([told, ids.expand(len(told), -1)], dim=1)
        return sample._replace(coordinates=coupled[:, :, None])

    def solve(self, prompt: list[int]) -> list[int]:
        data = [token for token in prompt if token != self.noise]
        if len(data) != self.minimum:
            raise ValueError(f"the prompt holds {len(data)} data tokens, not {self.minimum}")
        return data

    def chance(self, length: int) -> Chance:
        """See `arrangement_chance`: a bag tells the data but not their order."""
        return arrangement_chance(self.minimum, self.noise)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Noise stays, data change places."""
        data = prompt != self.noise
        reordered = prompt.clone()
        reordered[data] = rearrange(prompt[data], generator)
        return reordered
