"""What drawing a batch takes of a training step, for every task."""

from collections.abc import Iterator
from functools import partial
from itertools import count

from posenc.benchmarks.figures import Figure, in_turn, ratios, take
from posenc.benchmarks.loop import bare
from posenc.benchmarks.plan import Plan
from posenc.building import batches, build
from posenc.catalogue import classes
from posenc.portrait import model_for

SETS = ("task", "model", "data.curriculum", "trainer.max_steps")
COST, SHARE = "us a batch", "of a step"
"""Units of the two figures of a task."""


def measure(plan: Plan) -> Iterator[Figure]:
    """At the longest trained length, in the default network."""
    steps = plan.size(20, 1)
    for name in classes("task"):
        config = plan.config(
            f"task={name}", f"model={model_for(name, 'task')}", "data.curriculum=fixed",
            f"trainer.max_steps={1000 * steps}",
        )  # fmt: skip
        data = batches(config, build(config))
        works = {
            "batches": partial(take, map(data.__getitem__, count()), steps),
            "steps": partial(take, bare(config), steps),
        }
        seconds = in_turn(works, plan.rounds)
        yield Figure(name, COST, [1e6 * each / steps for each in seconds["batches"]])
        shares = ratios(seconds["batches"], seconds["steps"])
        yield Figure(name, SHARE, shares, at_most=0.05)
