"""Problems of a task, token by token: what a network is shown, which id it gets, what is asked."""

from collections.abc import Sequence

import torch
from rich.console import Console
from rich.text import Text

from posenc.experiment import Experiment
from posenc.model.layout import arrange, slots
from posenc.seeding import generator
from posenc.tasks.base import Sample

SHOWN = 3
"""Problems."""
GAP = 2
"""Spaces between columns."""


def show_problems(experiment: Experiment, length: int, *, title: str, text: str, seed: int) -> None:
    """Prints problems of one length as the network of an experiment meets them in training."""
    task, causal = experiment.task, experiment.net.shape.causal
    console = Console(highlight=False)
    console.print(title, style="bold")
    console.print(Text(f"\n{text}\n"), soft_wrap=True)
    sample = task.sample(SHOWN, length, generator(seed, "problems", length))
    ids = experiment.positions.train(slots(sample, causal=causal), generator(seed, "ids", length))
    for row in range(SHOWN):
        part = sample.rows(slice(row, row + 1))
        own_ids = ids if len(ids) == 1 else ids[row : row + 1]
        _print(console, aligned(experiment, part, own_ids))
    chance = task.chance(length)
    guess = "blind to order" if task.order_matters else "that knows the length alone"
    off = task.chance_error
    estimate = f"; estimates or bounds, {off:.2g} off at most" if off else ""
    console.print(
        f"chance at length {length}: exact match {chance.exact:.3g}, token accuracy "
        f"{chance.token:.3g}, of a guess {guess}{estimate}",
        soft_wrap=True,
    )


def aligned(experiment: Experiment, problem: Sample, ids: torch.Tensor) -> dict[str, list[str]]:
    """Name of a line -> a word for every token of one problem, empty where it has none."""
    causal, vocabulary = experiment.net.shape.causal, experiment.task.vocabulary
    shown = arrange(problem, ask=experiment.net.ask, causal=causal)[0].tolist()
    symbols = (*vocabulary.symbols, "?")
    before = [""] * (len(shown) - problem.answer.shape[1])
    known = slots(problem, causal=causal)
    scored = torch.ones_like(problem.answer, dtype=torch.bool)
    if problem.scored is not None:
        scored = problem.scored
    asked = scored[0].tolist()
    lines = {"token": [symbols[token] for token in shown]}
    for part, column in enumerate(ids[0].view(len(shown), -1).T.tolist(), start=1):
        name = "position" if ids.dim() == 2 else f"position {part}"
        lines[name] = [f"{number:.4g}" for number in column]
    if known.places is not None:
        lines["place of digit"] = [str(place or "") for place in known.places[0].tolist()]
    if known.coordinates is not None:
        for part, column in enumerate(known.coordinates[0].T.tolist()):
            lines[f"coordinate {part}"] = [str(mark or "") for mark in column]
    answers = problem.answer[0].tolist()
    lines["answer"] = before + [
        vocabulary.symbols[token] if is_asked else ""
        for token, is_asked in zip(answers, asked, strict=True)
    ]
    if not all(asked) and not problem.in_place:
        lines["scored"] = before + ["yes" if is_asked else "no" for is_asked in asked]
    if problem.judged is not None:
        lines["judged"] = before + ["yes" if each else "no" for each in problem.judged[0].tolist()]
    return lines


def _print(console: Console, lines: dict[str, list[str]]) -> None:
    """Columns of tokens, as many beside each other as a terminal takes."""
    name = max(map(len, lines))
    widths = [max(map(len, column)) + GAP for column in zip(*lines.values(), strict=True)]
    for start, stop in _blocks(widths, console.width - name):
        for line, words in lines.items():
            cells = zip(words[start:stop], widths[start:stop], strict=True)
            text = "".join(word.rjust(width) for word, width in cells)
            console.print(Text(f"{line:<{name}}{text}".rstrip()), soft_wrap=True)
        console.print()


def _blocks(widths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """(start, stop) of columns that fit side by side, at least one."""
    blocks, start, taken = [], 0, 0
    for column, width in enumerate(widths):
        if taken + width > room and column > start:
            blocks.append((start, column))
            start, taken = column, 0
        taken += width
    return [*blocks, (start, len(widths))]
