"""Sort: symbols of an arbitrary rank, numbers of four digits, and the steps of a selection sort."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.sort import RANK, Sort

STEPS = (
    "in s1 out s0 re s3 s6 s3 s1 # in s3 out s3 re s6 s3 s1 # in s6 out s3 re s6 s1 # "
    "in s6 out s6 re s1 # in s1 out s1 re answer s0 s3 s3 s6 s1"
)


@pytest.mark.parametrize(
    ("settings", "prompt", "answer"),
    [
        ({}, "s1 s3 s6 s3 s0", "s0 s3 s3 s6 s1"),
        ({}, "s47 s2 s49 s4 s48", "s48 s4 s49 s2 s47"),
        ({"scratchpad": True}, "s1 s3 s6 s3 s0", STEPS),
        ({"digits": 4}, "0 9 0 0 0 0 8 1 9 9 9 9", "0 0 8 1 0 9 0 0 9 9 9 9"),
        (
            {"digits": 4, "scratchpad": True},
            "0 9 0 0 0 0 8 1",
            "in 0 9 0 0 out 0 0 8 1 re 0 9 0 0 # in 0 9 0 0 out 0 9 0 0 re answer 0 0 8 1 0 9 0 0",
        ),
    ],
)
def test_by_hand(settings, prompt, answer):
    task = Sort(**settings)
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


def test_the_example_of_steps_and_the_ranks():
    assert STEPS in " ".join(Sort.__doc__.split())
    assert sorted(RANK) == list(range(50))
    by_rank = sorted(range(50), key=RANK.__getitem__)
    assert by_rank[:4] == [0, 3, 6, 9]
    assert by_rank[-1] == 47


@pytest.mark.parametrize("digits", [1, 4])
@pytest.mark.parametrize("length", [1, 2, 9, 30])
def test_sampled_steps_are_solutions(digits, length):
    task = Sort(digits=digits, scratchpad=True)
    sample = task.sample(20, length, generator(0, "steps", length))
    assert sample.answer.tolist() == [task.solve(row) for row in sample.prompt.tolist()]
    rest = digits * length * (length - 1) // 2
    assert sample.answer.shape[1] == 4 * length + rest + 3 * digits * length


def test_numbers_are_uniform_from_10_to_9999():
    digits = Sort(digits=4).sample(20_000, 2, generator(0, "numbers")).prompt.view(-1, 4)
    numbers = (digits * torch.tensor([1000, 100, 10, 1])).sum(1)
    assert numbers.min() >= 10
    counts = (numbers // 1000).bincount()
    assert (counts[1:] - 4_004).abs().max() < 4 * 4_004**0.5
    assert abs(counts[0] - 3_964) < 4 * 3_964**0.5


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, ""),
        ({"scratchpad": True}, "s1 in"),
        ({"digits": 4}, "1 2 3"),
        ({"digits": 4}, "0 0 0 9"),
        ({"digits": 4, "scratchpad": True}, "1 2 3 #"),
    ],
)
def test_a_prompt_that_is_no_problem(settings, text):
    task = Sort(**settings)
    with pytest.raises(ValueError, match="the prompt"):
        task.solve(task.vocabulary.encode(text))


def test_order_matters_to_steps_and_to_digits():
    assert not Sort().order_matters
    assert Sort(scratchpad=True).order_matters
    assert Sort(digits=4).order_matters


def test_another_order_of_digits_keeps_numbers_legal():
    task = Sort(digits=4)
    for length in (1, 5, 60, 400):
        prompt = task.sample(1, length, generator(0, "legal", length)).prompt[0]
        other = task.reorder(prompt, generator(0, "order"))
        assert task.solve(other.tolist()) != task.solve(prompt.tolist())


def test_chance_of_steps_of_two_symbols():
    task = Sort(scratchpad=True)
    wholes, slots = defaultdict(Counter), defaultdict(Counter)
    for prompt in product(range(50), repeat=2):
        answer = task.solve(list(prompt))
        bag = tuple(sorted(prompt))
        wholes[bag][tuple(answer)] += 1
        for slot, token in enumerate(answer):
            slots[bag, slot][token] += 1
    exact, token = (sum(max(c.values()) for c in x.values()) / 2500 for x in (wholes, slots))
    chance = task.chance(2)
    assert chance.exact == pytest.approx(exact)
    assert chance.token == pytest.approx(token / len(answer), abs=0.01)


@pytest.mark.parametrize("digits", [1, 4])
@pytest.mark.parametrize("length", [3, 10])
def test_chance_of_steps_is_that_of_a_guess_learned_from_orders(digits, length):
    """Of a few bags, each dealt many times; the commonest token of every place, as a guess."""
    task = Sort(digits=digits, scratchpad=True)
    stream = generator(0, "bags", digits, length)
    rates = []
    for prompt in task.sample(12, length, stream).prompt:
        orders = torch.rand(3_000, len(prompt), generator=stream).argsort(1)
        dealt = prompt[orders]
        items = (dealt.view(3_000, length, digits) * task._worth).sum(2)
        if digits == 1:
            items = torch.tensor(RANK)[dealt]
        answers = task._posed(items[(items >= (10 if digits == 4 else 0)).all(1)]).answer
        rates.append((answers == answers.mode(dim=0).values).double().mean().item())
    assert sum(rates) / 12 == pytest.approx(task.chance(length).token, abs=task.chance_error)


@pytest.mark.parametrize("digits", [0, 2, 5, "four", True, 4.0])
def test_digits_that_cannot_be(digits):
    with pytest.raises(ConfigError, match=rf"task\.digits={digits}: must be 1 or 4"):
        Sort(digits=digits)
