"""A training step with every encoding, relative to one without."""

from collections.abc import Iterator
from functools import partial

from posenc.benchmarks.figures import Figure, in_turn, ratios, take
from posenc.benchmarks.loop import bare
from posenc.benchmarks.plan import Plan
from posenc.catalogue import classes
from posenc.portrait import model_for

SETS = ("length", "encoding", "model", "trainer.max_steps")
SENTENCES = "length={min:63,train:63,test:63}"
"""In words; with the place of the answer they make 64 tokens."""


def measure(plan: Plan) -> Iterator[Figure]:
    """On texts of 64 tokens; those for decoders alone are compared with a decoder."""
    steps = plan.size(20, 1)
    names = [name for name in classes() if name != "none"]
    pairs = [("none", "encoder"), ("none", "decoder"), *((name, model_for(name)) for name in names)]
    works = {}
    for name, model in pairs:
        config = plan.config(
            SENTENCES, f"encoding={name}", f"model={model}", f"trainer.max_steps={1000 * steps}"
        )
        works[name, model] = partial(take, bare(config), steps)
    seconds = in_turn(works, plan.rounds)
    for name, model in pairs[2:]:
        yield Figure(f"{name}", "", ratios(seconds[name, model], seconds["none", model]))
