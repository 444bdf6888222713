"""The stream of batches: the same for any number of workers, and nothing comes twice."""

from contextlib import closing
from functools import partial
from itertools import chain, combinations, islice
from types import SimpleNamespace

import pytest
import torch

from posenc.building import batches as batches_of
from posenc.building import build
from posenc.portrait import model_for
from posenc.seeding import generator
from posenc.tasks.copy import Copy
from posenc.training.data import Batches, BatchNumbers, TrainingData

model_for_task = partial(model_for, group="task")
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers.*")


@pytest.fixture
def batches():
    return Batches(Copy(symbols=50), [3, 4, 7], rows=5, seed=1)


def served(batches, *, workers, after=0, accumulate=1, count=8):
    """Batches that a trainer gets which has already stepped `after` times, a few at a time."""
    with closing(TrainingData(batches, accumulate=accumulate, workers=workers)) as data:
        data.trainer = SimpleNamespace(global_step=after)
        streams = iter(data.train_dataloader())
        few = [islice(next(streams), count - count // 2), islice(next(streams), count // 2)]
        return list(chain.from_iterable(few))


def same(ones, others):
    return len(ones) == len(others) and all(
        torch.equal(one.prompt, other.prompt) and torch.equal(one.answer, other.answer)
        for one, other in zip(ones, others, strict=True)
    )


def test_a_batch_is_a_pure_function_of_seed_and_number(batches):
    first = batches[7]
    torch.manual_seed(9)
    batches[3]
    again = Batches(batches.task, batches.lengths, rows=5, seed=1)
    assert same([again[7]], [first])
    other = Batches(batches.task, batches.lengths, rows=5, seed=2)
    assert not any(same([other[n]], [batches[n]]) for n in range(20))


def test_drawing_leaves_the_global_stream_alone(of_task):
    before = torch.get_rng_state()
    of_task[0]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_any_number_of_workers_serves_the_same_batches(batches, workers):
    assert same(served(batches, workers=workers), [batches[n] for n in range(8)])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_restart_goes_on_where_it_stopped(batches, workers):
    own = served(batches, workers=workers, after=5, count=3)
    assert same(own, [batches[n] for n in (5, 6, 7)])
    own = served(batches, workers=workers, after=2, accumulate=3, count=3)
    assert same(own, [batches[n] for n in (6, 7, 8)])


def test_the_stream_does_not_end_or_repeat(batches):
    prompts = {str(batches[n].prompt.tolist()) for n in range(300)}
    assert len(prompts) == 300
    assert list(islice(BatchNumbers(10**9), 3)) == [10**9, 10**9 + 1, 10**9 + 2]


def test_every_length_comes_as_often(batches):
    lengths = [batches[n].prompt.shape[1] for n in range(600)]
    assert set(lengths) == {3, 4, 7}
    for length in (3, 4, 7):  # 3 standard errors of a share of one third
        assert lengths.count(length) / 600 == pytest.approx(1 / 3, abs=0.058)


@pytest.fixture
def of_task(task_name, built):
    experiment = built(f"task={task_name}", f"model={model_for_task(task_name)}")
    return Batches(experiment.task, experiment.trained, rows=6, seed=0)


def test_batches_hold_problems_that_are_solved(of_task):
    for number in range(5):
        batch = of_task[number]
        assert len(batch.prompt) == len(batch.answer) == 6
        for prompt in batch.prompt.tolist():
            of_task.task.solve(prompt)


@pytest.mark.filterwarnings("ignore:This DataLoader will create 4")
def test_batches_of_a_task_are_the_same_for_any_number_of_workers(of_task):
    alone = served(of_task, workers=0)
    assert not any(same([batch], [other]) for batch, other in combinations(alone, 2))
    for workers in (1, 4):
        for ours, theirs in zip(alone, served(of_task, workers=workers), strict=True):
            for field, other in zip(ours, theirs, strict=True):
                same_tensor = isinstance(field, torch.Tensor) and torch.equal(field, other)
                assert same_tensor or field is other


def test_training_and_evaluation_draw_from_different_streams(batches):
    """Of the same seed: 100 rows of 7 of 50 symbols would not meet by accident."""
    evaluated = batches.task.sample(100, 7, generator(1, "evaluation", 7)).prompt.tolist()
    trained = [row for n in range(60) for row in batches[n].prompt.tolist()]
    assert not any(row in trained for row in evaluated)


def test_a_growing_curriculum_meets_longer_problems_one_after_the_other():
    lengths = list(range(5, 21))
    growing = Batches(Copy(), lengths, rows=1, seed=0, growth=1600)
    met = [growing.length(number) for number in range(2400)]
    assert met[0] == 5
    assert all(length <= 5 + number // 100 for number, length in enumerate(met[:1600]))
    assert all(max(met[start : start + 100]) == 5 + start // 100 for start in range(0, 1600, 100))
    counts = [met[1600:].count(length) for length in lengths]
    assert min(counts) > 20
    assert [len(growing[number].prompt[0]) for number in (0, 900, 2000)] == [
        met[number] for number in (0, 900, 2000)
    ]


@pytest.mark.parametrize(
    ("curriculum", "first", "trained"),
    [("uniform", range(5, 21), 16), ("growing", [5], 16), ("fixed", [20], 1)],
)
def test_curricula_by_name(runs, curriculum, first, trained):
    config = runs.config(
        "task=copy", f"data.curriculum={curriculum}", "length={min:5,train:20,test:20}"
    )
    made = batches_of(config, build(config))
    assert made.length(0) in first
    assert len(made.lengths) == trained
    assert made.growth == (config.trainer.max_steps // 2 if curriculum == "growing" else 0)
