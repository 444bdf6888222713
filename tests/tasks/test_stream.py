"""The stream: its law, and how few bits the best predictor of the next token needs."""

import math
from collections import Counter, defaultdict
from itertools import pairwise, product
from statistics import fmean, pstdev

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.stream import Stream


def steps_of(task: Stream, tokens: list[int]) -> list[int]:
    return [(new - old) % len(task.vocabulary) for old, new in pairwise(tokens)]


def probabilities(task: Stream, tokens: list[int]) -> list[float]:
    """Of every token but the first, given all before it: the law, in plain Python."""
    symbols = len(task.vocabulary)
    harmonic = sum(1 / rank for rank in range(1, symbols + 1))
    steps, found = steps_of(task, tokens), []
    for number, step in enumerate(steps):
        fresh = 1 / (step + 1) / harmonic
        if number < task.distance:
            found.append(fresh)
        else:
            again = step == steps[number - task.distance]
            found.append(task.renew * fresh + (1 - task.renew) * again)
    return found


@pytest.mark.parametrize(
    ("prompt", "answer"), [([3, 4], [4]), ([0, 0, 0], [0, 0]), ([7, 0, 5], [0, 5])]
)
def test_by_hand(prompt, answer):
    assert Stream().solve(prompt) == answer


@pytest.mark.parametrize("prompt", [[], [3]])
def test_a_prompt_that_is_no_problem(prompt):
    with pytest.raises(ValueError, match="less than two tokens"):
        Stream().solve(prompt)


@pytest.mark.parametrize(
    "task",
    [
        Stream(),
        Stream(symbols=16, distance=8),
        Stream(symbols=4, distance=3, renew=0.5),
        Stream(distance=1, renew=0.9),
    ],
)
def test_the_best_predictor_needs_as_many_bits_as_the_floor_says(task):
    prompts = task.sample(4_000, 20, generator(0, "bits")).prompt.tolist()
    bits = [[-math.log2(p) for p in probabilities(task, prompt)] for prompt in prompts]
    for place, column in enumerate(zip(*bits, strict=True)):
        bound = 4 * pstdev(column) / len(column) ** 0.5
        assert abs(fmean(column) - task.floor(place)) < bound, place


def test_floors_of_the_docstring():
    task = Stream()
    assert math.log2(len(task.vocabulary)) == 3
    assert [round(task.floor(place), 2) for place in (0, 3, 4, 500)] == [2.62, 2.62, 1.02, 1.02]
    assert Stream(renew=1).floor(30) == pytest.approx(task.floor(0))


def test_the_law_of_all_short_streams():
    task = Stream(symbols=2, distance=2, renew=0.5)
    met = Counter(map(tuple, task.sample(32_000, 5, generator(0, "law")).prompt.tolist()))
    for tokens in product(range(2), repeat=5):
        expected = 16_000 * math.prod(probabilities(task, tokens))
        assert abs(met[tokens] - expected) < 4 * expected**0.5


def test_a_step_is_as_likely_anywhere_and_independent_of_nearer_ones():
    """So what a model cannot see `distance` back is lost to it."""
    task = Stream(symbols=4, distance=3)
    steps = task.sample(30_000, 12, generator(0, "steps")).prompt.diff(dim=1) % 4
    law = torch.tensor([12, 6, 4, 3]) / 25
    for place in (0, 4, 10):
        shares = steps[:, place].bincount(minlength=4) / 30_000
        assert (shares - law).abs().max() < 0.012
    for back in (1, 2):
        pairs = (4 * steps[:, 10] + steps[:, 10 - back]).bincount(minlength=16) / 30_000
        assert (pairs - (law[:, None] * law).flatten()).abs().max() < 0.01
    again = (steps[:, 10] == steps[:, 7]).double().mean()
    assert again == pytest.approx(0.8 + 0.2 * (law**2).sum().item(), abs=0.01)


@pytest.mark.parametrize("length", [2, 3, 4, 6])
def test_chance_of_short_streams_is_that_of_the_best_guess(length):
    task = Stream(symbols=3, distance=2, renew=0.3)
    wholes, slots = defaultdict(Counter), defaultdict(Counter)
    for tokens in product(range(3), repeat=length):
        probability = math.prod(probabilities(task, tokens)) / 3
        bag = tuple(sorted(tokens))
        wholes[bag][tokens[1:]] += probability
        for slot, token in enumerate(tokens[1:]):
            slots[bag, slot][token] += probability
    exact, token = (sum(max(c.values()) for c in t.values()) for t in (wholes, slots))
    assert task.chance(length) == pytest.approx((exact, token / (length - 1)), rel=1e-9)


def test_chance_of_long_streams_is_no_more_than_that_of_the_best_guess(monkeypatch):
    task = Stream(symbols=3, distance=2)
    best = task.chance(8)
    monkeypatch.setattr("posenc.tasks.stream.TRIED", 3_000)
    bound = task.chance(8)
    assert best.exact - task.chance_error < bound.exact < best.exact
    assert best.token - task.chance_error < bound.token < best.token


def test_the_last_token_is_not_asked():
    sample = Stream().sample(3, 7, generator(0, "asked"))
    assert sample.scored.tolist() == [[True] * 6 + [False]] * 3
    assert torch.equal(sample.answer[:, :-1], sample.prompt[:, 1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": 1}, "symbols=1: .*at least 2"),
        ({"distance": 0}, "distance=0: .*at least 1"),
        ({"distance": 2.5}, r"distance=2\.5: .*at least 1"),
        ({"renew": 0}, "renew=0: .*above 0, up to 1"),
        ({"renew": 1.1}, r"renew=1\.1: .*above 0, up to 1"),
        ({"renew": "often"}, "renew=often: .*above 0, up to 1"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=rf"task\.{message}"):
        Stream(**options)


def test_a_single_token_is_too_few():
    with pytest.raises(ConfigError, match="length 1: "):
        Stream().sample(1, 1, generator(0, "short"))
