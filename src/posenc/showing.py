"""What a trained network makes of one prompt, and of the same tokens in another order."""

from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text
from torch import Tensor

from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.model.decoding import decode
from posenc.model.layout import slots
from posenc.seeding import generator

LISTED = 4
"""Symbols listed with their probabilities."""
COLUMN = 24
"""Characters that a layer takes: a number, a bar, and space."""
ALIKE = 1e-4
"""Two distributions that nowhere differ by more count as the same."""


@dataclass(frozen=True)
class Reply:
    """A prompt, the right answer, and what a network makes of it."""

    prompt: list[int]
    right: list[int]
    probabilities: Tensor
    """(S,V), of each of the S scored tokens given the ones before."""
    attention: list[Tensor]
    """(T,) of each layer: how the first place that is asked spreads its attention, mean over
    heads."""
    asking: list[str]
    """What stands after the prompt where it is asked for the first token."""

    @property
    def said(self) -> list[int]:
        """Its answer: the likeliest token at each place."""
        return self.probabilities.argmax(dim=-1).tolist()


def reply(experiment: Experiment, prompt: list[int]) -> Reply:
    """Raises ConfigError where the task knows no answer to this prompt."""
    task, net = experiment.task, experiment.net.eval()
    try:
        asked = task.pose(prompt)
    except ValueError:
        example = _example(experiment)
        raise ConfigError(f"prompt: it has no answer; one that has is '{example}'") from None
    places = slots(asked, causal=net.shape.causal)
    experiment.check_room(places)
    ids = experiment.positions.evaluate(places, generator(0, "show"))
    watch: list[Tensor] = []
    scored, answers = torch.ones_like(asked.answer[0], dtype=torch.bool), asked.answer.shape[1]
    if asked.scored is not None:
        scored = asked.scored[0]
    logits = decode(net, asked, ids, watch)[0][scored]
    first = int(scored.nonzero()[0])
    looked = [weights[0, :, first - answers].mean(dim=0) for weights in watch]
    asking = ["?"] * (1 if net.shape.causal else answers) * (not asked.in_place)
    right = asked.answer[0][scored].tolist()
    return Reply(prompt, right, logits.softmax(dim=-1), looked, asking)


def show(experiment: Experiment, text: str, *, title: str) -> None:
    """Prints the replies to a prompt and to its reordering, and whether they differ."""
    console = Console(highlight=False)
    prompt = experiment.task.vocabulary.encode(text)
    if not prompt:
        raise ConfigError(f"prompt= is missing: write one such as prompt='{_example(experiment)}'")
    first = reply(experiment, prompt)
    other = experiment.task.reorder(torch.tensor(prompt), generator(0, "reorder")).tolist()
    second = reply(experiment, other)
    gap = (first.probabilities - second.probabilities).abs().max().item()
    alike = gap <= ALIKE
    right = [each.said == each.right for each in (first, second)]
    lucky = alike and first.said == second.said and any(right) and not all(right)
    console.print(title, style="bold")
    for each in (first, second):
        _print(console, experiment, each, lucky=lucky)
    if first.prompt == second.prompt:
        console.print("\nThere is no other order of these tokens.")
        return
    if not alike:
        console.print(f"\nThe two orders are told apart: probabilities differ by up to {gap:.3g}.")
        return
    console.print(f"\nThe two orders give the same distribution (differences up to {gap:.0e}).")
    console.print(_why(experiment, same_answer=first.right == second.right))


def _example(experiment: Experiment) -> str:
    """A prompt of the task."""
    sample = experiment.task.sample(1, experiment.trained[0], generator(0, "example"))
    return experiment.task.vocabulary.decode(sample.prompt[0].tolist())


def _print(console: Console, experiment: Experiment, given: Reply, *, lucky: bool) -> None:
    vocabulary, said = experiment.task.vocabulary, given.said
    right = said == given.right
    verdict = Text("right", style="green") if right else Text("wrong", style="red")
    if lucky:
        verdict = Text("the same answer to both, so right for one by luck")
    sure = given.probabilities.amax(dim=-1).prod().item()
    console.print(Text(f"\n{vocabulary.decode(given.prompt)}", style="bold"))
    answer = f"  answers {vocabulary.decode(said)}, {sure:.0%} sure: "
    console.print(Text.assemble(answer, verdict))
    if len(said) > 1:
        console.print("  the first token:")
    likeliest = given.probabilities[0].topk(min(LISTED, len(vocabulary)))
    for share, token in zip(*map(Tensor.tolist, likeliest), strict=True):
        console.print(Text(f"    {vocabulary.symbols[token]:<10} {share:.3f} {_bar(share)}"))
    symbols = [vocabulary.symbols[token] for token in given.prompt]
    layers = list(enumerate(given.attention, start=1))
    aside = max(1, console.width // COLUMN - 1)
    for first in range(0, len(layers), aside):
        _print_attention(console, [*symbols, *given.asking], dict(layers[first : first + aside]))


def _print_attention(console: Console, symbols: list[str], layers: dict[int, Tensor]) -> None:
    table = Table(
        box=None, padding=(0, 1), title="attention from ?, mean over heads", title_justify="left"
    )
    table.add_column("to", overflow="fold")
    for layer in layers:
        table.add_column(f"in layer {layer}", width=COLUMN - 2)
    for place, symbol in enumerate(symbols):
        shares = [looked[place].item() for looked in layers.values()]
        table.add_row(Text(symbol), *(f"{share:.2f} {_bar(share)}" for share in shares))
    console.print(table)


def _bar(share: float) -> str:
    return "█" * round(16 * share)


def _why(experiment: Experiment, *, same_answer: bool) -> str:
    if same_answer:
        return "Both have the same right answer, so nothing here asks for order."
    if experiment.net.shape.causal or experiment.net.encoding.hooks():
        return "What this network is told about order made no difference to its answer."
    return (
        "Attention compares contents: it weighs a token by what it is, not by where it stands, and "
        "adds up what it finds. Unless an encoding marks the positions, two sentences of the same "
        "words are one bag of words to it, whatever it has learned."
    )
