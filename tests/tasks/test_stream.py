"""The stream: its law, and how few bits the best predictor of the next token needs."""

import math
from collections import Counter
from itertools import product
from statistics import fmean, pstdev

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.stream import Stream

TASKS = [Stream(), Stream(symbols=5, distance=3, renew=0.5), Stream(distance=1, renew=0.1)]


def probabilities(task: Stream, tokens: list[int]) -> list[float]:
    """Of every token but the first, given all before it: the law, in plain Python."""
    symbols = len(task.vocabulary)
    weights = [2.0**-step for step in range(1, symbols + 1)]
    found = []
    for place in range(1, len(tokens)):
        on = (tokens[place] - tokens[place - 1] - 1) % symbols
        fresh = weights[on] / sum(weights)
        if place >= task.distance:
            again = tokens[place] == tokens[place - task.distance]
            fresh = task.renew * fresh + (1 - task.renew) * again
        found.append(fresh)
    return found


def test_by_hand():
    task = Stream(symbols=5, distance=2)
    assert task.solve([3, 4, 4, 0]) == [4, 4, 0]
    posed = task.pose([3, 4, 3, 0])
    assert posed.scored.tolist() == [[True, True, True, False]]
    assert posed.judged.tolist() == [[False, True, False, False]]
    with pytest.raises(ValueError, match="at least 4 tokens"):
        task.solve([3, 4, 4])


@pytest.mark.parametrize("task", TASKS)
def test_the_best_predictor_needs_as_many_bits_as_the_floor_says(task):
    prompts = task.sample(4_000, 20, generator(0, "bits")).prompt.tolist()
    bits = [[-math.log2(p) for p in probabilities(task, prompt)] for prompt in prompts]
    for place, column in enumerate(zip(*bits, strict=True)):
        bound = 4 * pstdev(column) / len(column) ** 0.5
        assert abs(fmean(column) - task.floor(place)) < bound + 0.01, place


@pytest.mark.parametrize("task", TASKS)
def test_the_best_predictor_gets_every_judged_token_right(task):
    sample = task.sample(200, 18, generator(0, "best"))
    symbols = range(len(task.vocabulary))
    for prompt, judged in zip(sample.prompt.tolist(), sample.judged.tolist(), strict=True):
        for place in [place for place, is_judged in enumerate(judged) if is_judged]:
            chances = [probabilities(task, [*prompt[: place + 1], s])[-1] for s in symbols]
            assert max(symbols, key=chances.__getitem__) == prompt[place + 1]


def test_floors_of_the_docstring():
    task = Stream()
    assert math.log2(len(task.vocabulary)) == 4
    assert [round(task.floor(place), 2) for place in (0, 6)] == [2.0, 2.0]
    assert all(1.1 < task.floor(place) < 1.4 for place in (7, 8, 15, 40, 499))


def test_the_law_of_all_short_streams():
    task = Stream(symbols=2, distance=2, renew=0.5)
    met = Counter(map(tuple, task.sample(32_000, 5, generator(0, "law")).prompt.tolist()))
    for tokens in product(range(2), repeat=5):
        expected = 16_000 * math.prod(probabilities(task, tokens))
        assert abs(met[tokens] - expected) < 4 * expected**0.5


def test_chance_is_what_the_commonest_token_gets_right():
    task = Stream(symbols=5, distance=3)
    sample = task.sample(20_000, 9, generator(1, "chance"))
    right, judged, exact = 0, 0, 0
    for prompt, where in zip(sample.prompt.tolist(), sample.judged.tolist(), strict=True):
        most = max(prompt.count(symbol) for symbol in range(5))
        guess = min(symbol for symbol in range(5) if prompt.count(symbol) == most)
        hits = [prompt[place + 1] == guess for place in range(9) if where[place]]
        right, judged, exact = right + sum(hits), judged + len(hits), exact + all(hits)
    chance = task.chance(9)
    assert chance.token == pytest.approx(right / judged, abs=0.01)
    assert chance.exact == pytest.approx(exact / 20_000, abs=0.01)


def test_the_last_token_is_not_asked():
    sample = Stream().sample(3, 12, generator(0, "asked"))
    assert sample.scored.tolist() == [[True] * 11 + [False]] * 3
    assert torch.equal(sample.answer[:, :-1], sample.prompt[:, 1:])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"symbols": 1}, "task.symbols=1: must be"),
        ({"distance": 0}, "task.distance=0: must be"),
        ({"renew": 0}, "task.renew=0: must be a number above 0 and below 0.6"),
        ({"renew": 0.7}, "task.renew=0.7: must be"),
        ({"renew": "x"}, "task.renew=x: must be"),
    ],
)
def test_what_makes_no_stream_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Stream(**settings)


def test_a_stream_too_short_to_repeat_is_refused():
    with pytest.raises(ConfigError, match="at least 10 tokens"):
        Stream().sample(1, 9, generator(0, "short"))
