"""What a user may type is a problem of the task, or is refused as none."""

import pytest
import torch

from posenc.seeding import generator
from posenc.tasks.base import Task


def spoiled(prompt: list[int], symbols: int, stream: torch.Generator) -> list[list[int]]:
    """Prompts that differ from this one in a token, in two places, or in length."""
    place, other, symbol = (
        int(torch.randint(below, (), generator=stream))
        for below in (len(prompt), len(prompt), symbols)
    )
    exchanged = list(prompt)
    exchanged[place], exchanged[other] = prompt[other], prompt[place]
    before, after = prompt[:place], prompt[place + 1 :]
    return [
        exchanged,
        [*before, symbol, *after],
        [*before, *after],
        before,
        [*prompt, symbol],
        torch.randint(symbols, (len(prompt),), generator=stream).tolist(),
    ]


def test_a_spoiled_prompt_is_answered_or_refused(task: Task):
    symbols, stream = len(task.vocabulary), generator(0, "spoiled")
    for length in task.lengths(1, 30)[:5]:
        for prompt in task.sample(10, length, stream).prompt.tolist():
            for other in spoiled(prompt, symbols, stream):
                try:
                    posed = task.pose(other)
                except ValueError:
                    continue
                assert posed.prompt.tolist() == [other]
                assert posed.answer[posed.scored].tolist() == task.solve(other)
                assert set(task.solve(other)) <= set(range(symbols))


def test_an_empty_prompt_is_refused(task: Task):
    with pytest.raises(ValueError, match="the prompt is empty"):
        task.pose([])
