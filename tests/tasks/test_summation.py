"""Summation: the last digit, the steps to it, and what is guessed of them."""

from collections import Counter, defaultdict
from itertools import product

import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.base import Chance
from posenc.tasks.summation import Summation

STEPS = (
    "in 7 comp 7 + 0 out 7 [ 7 -> 7 ] re 8 1 # "
    "in 8 comp 8 + 7 out 15 [ 15 -> 5 ] re 1 # "
    "in 1 comp 1 + 5 out 6 [ 6 -> 6 ] re answer 6"
)


@pytest.mark.parametrize(
    ("scratchpad", "prompt", "answer"),
    [
        (False, "7 + 8 + 1", "6"),
        (False, "5 + 5", "0"),
        (False, "9", "9"),
        (True, "7 + 8 + 1", STEPS),
        (True, "9", "in 9 comp 9 + 0 out 9 [ 9 -> 9 ] re answer 9"),
    ],
)
def test_by_hand(scratchpad, prompt, answer):
    task = Summation(scratchpad=scratchpad)
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


def test_the_example_of_steps():
    assert STEPS in " ".join(Summation.__doc__.split())


def test_terms_are_uniform_and_never_0():
    prompt = Summation().sample(3_000, 3, generator(0, "terms")).prompt[:, ::2]
    counts = prompt.flatten().bincount(minlength=10)
    assert counts[0] == 0
    assert (counts[1:10] - 1_000).abs().max() < 4 * 1_000**0.5


@pytest.mark.parametrize(("length", "tokens"), [(1, 16), (20, 491), (100, 6451)])
def test_steps_grow_with_the_square(length, tokens):
    sample = Summation(scratchpad=True).sample(1, length, generator(0, "size"))
    assert sample.answer.shape[1] == tokens


@pytest.mark.parametrize("text", ["", "+", "0 + 1", "1 +", "1 2", "1 + 2 3", "1 + + + 2"])
def test_a_prompt_that_is_no_problem(text):
    task = Summation()
    with pytest.raises(ValueError, match="digits from 1 to 9"):
        task.solve(task.vocabulary.encode(text))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_chance_of_the_sum(length):
    sums = Counter(sum(terms) % 10 for terms in product(range(1, 10), repeat=length))
    assert Summation().chance(length) == pytest.approx((max(sums.values()) / 9**length,) * 2)


def best_guess(task, length) -> Chance:
    wholes, slots = defaultdict(Counter), defaultdict(Counter)
    for terms in product(range(1, 10), repeat=length):
        answer = task.solve(task.vocabulary.encode(" + ".join(map(str, terms))))
        bag = tuple(sorted(terms))
        wholes[bag][tuple(answer)] += 1
        for slot, token in enumerate(answer):
            slots[bag, slot][token] += 1
    exact, token = (sum(max(c.values()) for c in x.values()) / 9**length for x in (wholes, slots))
    return Chance(exact, token / len(answer))


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_chance_of_all_steps(length):
    task = Summation(scratchpad=True)
    known, found = best_guess(task, length), task.chance(length)
    assert found.exact == pytest.approx(known.exact)
    assert found.token == pytest.approx(known.token, abs=task.chance_error)


def test_order_matters_only_to_steps():
    assert not Summation().order_matters
    assert Summation(scratchpad=True).order_matters


def test_a_setting_that_cannot_be():
    with pytest.raises(ConfigError, match=r"task\.scratchpad=steps: must be true or false"):
        Summation(scratchpad="steps")
