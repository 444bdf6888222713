"""How many of the problems that a network is tested on it has already met in training."""

from collections.abc import Iterable

from posenc.evaluation import problems
from posenc.tasks.base import Sample
from posenc.training.data import Batches


def seen_in_training(
    batches: Batches, count: int, *, lengths: Iterable[int], samples: int, seed: int
) -> dict[int, float]:
    """Length -> share of the evaluation's prompts that stand in the first `count` batches.

    Short prompts are few, so training meets most of them; a length that was never trained on
    shares none and is left out.
    """
    tested: dict[int, list[bytes]] = {}
    for length in set(lengths) & set(batches.lengths):
        asked = problems(batches.task.unseen(batches.lengths), length, samples, seed)
        tested[length] = [row for sample in asked for row in _rows(sample)]
    unmet = {length: set(rows) for length, rows in tested.items()}
    for number in range(count):
        length = batches.length(number)
        if unmet.get(length):
            unmet[length].difference_update(_rows(batches[number]))
    return {
        length: sum(row not in unmet[length] for row in rows) / len(rows)
        for length, rows in sorted(tested.items())
    }


def _rows(sample: Sample) -> list[bytes]:
    return [row.tobytes() for row in sample.prompt.numpy()]
