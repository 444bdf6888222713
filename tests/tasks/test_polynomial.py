"""Polynomial: its value modulo 10, the steps to it, and what is guessed of them."""

import pytest

from posenc.seeding import generator
from posenc.tasks.polynomial import Polynomial
from posenc.tasks.shared.tried import tried_chance

STEPS = (
    "in 3 x^2 comp 3 * 4 out 12 [ 0 + 12 -> 2 ] re -1 x^0 0 x^3 # "
    "in -1 x^0 comp -1 * 1 out -1 [ 2 + -1 -> 1 ] re 0 x^3 # "
    "in 0 x^3 comp 0 * 8 out 0 [ 1 + 0 -> 1 ] re answer 1"
)


@pytest.mark.parametrize(
    ("scratchpad", "prompt", "answer"),
    [
        (False, "2 : 3 x^2 + -1 x^0 + 0 x^3", "1"),
        (False, "0 : 3 x^0", "3"),
        (False, "0 : 3 x^1", "0"),
        (False, "-2 : 3 x^3", "6"),
        (False, "-1 : 1 x^3 + 1 x^3", "8"),
        (True, "2 : 3 x^2 + -1 x^0 + 0 x^3", STEPS),
        (True, "-2 : 3 x^3", "in 3 x^3 comp 3 * -8 out -24 [ 0 + -24 -> 6 ] re answer 6"),
    ],
)
def test_by_hand(scratchpad, prompt, answer):
    task = Polynomial(scratchpad=scratchpad)
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


def test_the_example_of_steps():
    assert STEPS in " ".join(Polynomial.__doc__.split())


def test_every_part_of_a_problem_is_uniform():
    task = Polynomial()
    prompt = task.sample(7_000, 2, generator(0, "uniform")).prompt
    for column, values, first in ((0, 5, 1), (2, 7, 0), (5, 7, 0), (3, 4, task.power), (6, 4, 13)):
        counts = (prompt[:, column] - first).bincount()
        assert len(counts) == values
        assert (counts - 7_000 / values).abs().max() < 4 * (7_000 / values) ** 0.5


@pytest.mark.parametrize(("length", "tokens"), [(1, 19), (20, 741), (100, 11701)])
def test_steps_grow_with_the_square(length, tokens):
    sample = Polynomial(scratchpad=True).sample(1, length, generator(0, "size"))
    assert sample.answer.shape[1] == tokens


def test_the_order_of_terms_does_not_matter_to_the_answer():
    task = Polynomial()
    solved = {
        task.solve(task.vocabulary.encode(text))[0]
        for text in ("2 : 3 x^2 + -1 x^0 + 1 x^1", "2 : 1 x^1 + 3 x^2 + -1 x^0")
    }
    assert len(solved) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "2 :",
        "3 : 1 x^1",
        "2 : 4 x^1",
        "2 : 1 x^1 +",
        "2 1 x^1",
        "2 : x^1 1",
        "2 : 1 x^1 : 1 x^1",
    ],
)
def test_a_prompt_that_is_no_problem(text):
    task = Polynomial()
    with pytest.raises(ValueError, match="argument"):
        task.solve(task.vocabulary.encode(text))


@pytest.mark.parametrize("scratchpad", [False, True])
def test_an_estimated_chance_is_close(scratchpad, monkeypatch):
    task = Polynomial(scratchpad=scratchpad)
    exact = [tried_chance(task._posed(*task._every(length))) for length in (1, 2)]
    assert task.chance(2) == exact[1]
    monkeypatch.setattr("posenc.tasks.polynomial.TRIED", 0)
    for length, known in zip((1, 2), exact, strict=True):
        for found, best in zip(task.chance(length), known, strict=True):
            assert found == pytest.approx(best, abs=task.chance_error)
