"""Modular arithmetic without brackets: precedence, odd lengths, chance."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.modular_arithmetic import ModularArithmetic


@pytest.fixture
def task():
    return ModularArithmetic()


@pytest.mark.parametrize(
    ("prompt", "value"),
    [
        ("3", 3),
        ("4+3", 2),
        ("1-2", 4),
        ("2*3", 1),
        ("1-2*3", 0),
        ("1-2-3", 1),
        ("2*3-4*4", 0),
        ("0-0*4+3", 3),
        ("4-4*4*4+1*0-2", 3),
    ],
)
def test_by_hand(task, prompt, value):
    assert task.solve(task.vocabulary.encode(" ".join(prompt))) == [value]


def test_sampled_answers_are_what_python_reckons(task):
    for length in (1, 3, 9, 21, 99):
        sample = task.sample(300, length, generator(0, "python", length))
        texts = ["".join(task.vocabulary.decode(row).split()) for row in sample.prompt.tolist()]
        assert [eval(text) % 5 for text in texts] == sample.answer[:, 0].tolist()


def test_long_products_do_not_overflow(task):
    fours = task.vocabulary.encode(" * ".join(["4"] * 251))
    assert task.solve(fours) == [4]
    zeros = task.sample(20_000, 501, generator(0, "zeros"))
    assert sum(zeros.answer.unique().tolist()) == 10


def test_digits_and_operators_are_uniform(task):
    prompt = task.sample(4_000, 19, generator(0, "uniform")).prompt
    digits = prompt[:, ::2].flatten().bincount(minlength=5)
    operators = prompt[:, 1::2].flatten().bincount(minlength=8)[5:]
    for counts in (digits, operators):
        share = counts.sum() / len(counts)
        assert (counts - share).abs().max() < 4 * share**0.5


@pytest.mark.parametrize(("length", "frequency"), [(3, 0.253), (9, 0.209), (19, 0.2)])
def test_published_frequencies_of_0(task, length, frequency):
    answer = task.sample(100_000, length, generator(0, "published", length)).answer
    assert (answer == 0).double().mean() == pytest.approx(frequency, abs=0.0045)


@pytest.mark.parametrize("length", [2, 10, 100])
def test_even_lengths_are_refused(task, length):
    with pytest.raises(ConfigError, match=rf"length {length}: .*modular_arithmetic.*odd"):
        task.sample(2, length, generator(0, "even"))
    assert task.lengths(length, length) == []
    assert task.lengths(length - 1, length + 2) == [length - 1, length + 1]


@pytest.mark.parametrize("prompt", ["", "+", "1+", "12", "1 2 3", "1++", "-12", "1-2-", "1-23"])
def test_a_prompt_that_is_no_problem(task, prompt):
    with pytest.raises(ValueError, match="not digits joined by operators"):
        task.solve(task.vocabulary.encode(" ".join(prompt)))


@pytest.mark.parametrize("length", [1, 3, 5])
def test_chance_is_that_of_the_best_guess(task, length):
    answers, problems = defaultdict(Counter), 0
    for text in product(*["01234", "+-*"] * (length // 2), "01234"):
        answers["".join(sorted(text))][eval("".join(text)) % 5] += 1
        problems += 1
    best = sum(max(counts.values()) for counts in answers.values())
    assert task.chance(length) == pytest.approx((best / problems, best / problems))


@pytest.mark.parametrize(("length", "measured"), [(9, 0.385), (11, 0.304), (19, 0.214), (29, 0.2)])
def test_estimated_chance(task, length, measured):
    """Against guesses that had met 1,500 orders of every bag."""
    assert task.chance(length).token == pytest.approx(measured, abs=task.chance_error)


def test_reorder_keeps_digits_and_operators_apart(task):
    prompt = torch.tensor(task.vocabulary.encode("1 - 2 * 3 + 4"))
    reordered = task.reorder(prompt, generator(0, "order"))
    assert sorted(reordered[::2].tolist()) == [1, 2, 3, 4]
    assert sorted(reordered[1::2].tolist()) == [5, 6, 7]
