"""Dyck completion: which brackets stay open, how often, and what a bag tells of them."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.dyck_completion import DyckCompletion


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("(", ") end"),
        ("( )", "end"),
        ("( [ {", "} ] ) end"),
        ("( ) [ < > ( )", "] end"),
        ("[ [ ] ( { }", ") ] end"),
    ],
)
def test_by_hand(prompt, answer):
    task = DyckCompletion()
    tokens = task.vocabulary.encode(prompt)
    assert task.vocabulary.decode(task.solve(tokens)) == answer
    assert task.pose(tokens).answer.shape == (1, len(tokens) + 1)


@pytest.mark.parametrize("prompt", ["", ")", "( ]", "( ) )", "( end"])
def test_a_prompt_that_is_no_problem(prompt):
    task = DyckCompletion()
    with pytest.raises(ValueError, match="brackets that can all be closed"):
        task.solve(task.vocabulary.encode(prompt))


def every_prompt(length: int, types: int):
    """-> prompt, its probability and how many are open."""
    for tokens in product(range(2 * types), repeat=length):
        stack, probability = [], 1.0
        for token in tokens:
            share = 0.5 if stack else 1.0
            if token < types:
                stack.append(token)
                probability *= share / types
            elif stack and stack.pop() == token - types:
                probability *= 0.5
            else:
                break
        else:
            yield tokens, probability, stack


@pytest.mark.parametrize("length", [1, 2, 3, 5, 6])
def test_chance_is_that_of_the_best_guess(length):
    task = DyckCompletion(types=2)
    wholes, slots, total, mean = defaultdict(Counter), defaultdict(Counter), 0.0, 0.0
    for tokens, probability, stack in every_prompt(length, 2):
        bag, answer = tuple(sorted(tokens)), task.solve(list(tokens))
        total += probability
        mean += probability * len(answer)
        assert len(answer) == len(stack) + 1
        wholes[bag][tuple(answer)] += probability
        for slot, token in enumerate(answer):
            slots[bag, slot][token] += probability
    exact, token = (sum(max(c.values()) for c in t.values()) for t in (wholes, slots))
    assert total == pytest.approx(1)
    assert task.chance(length) == pytest.approx((exact, token / mean), rel=1e-9)


def test_prompts_are_drawn_as_is_said():
    task = DyckCompletion(types=2)
    prompt = task.sample(40_000, 4, generator(0, "law")).prompt
    met = Counter(map(tuple, prompt.tolist()))
    law = {tokens: probability for tokens, probability, _ in every_prompt(4, 2)}
    assert set(met) == set(law)
    for tokens, probability in law.items():
        expected = 40_000 * probability
        assert abs(met[tokens] - expected) < 4.5 * expected**0.5


def test_open_brackets_grow_with_the_root_of_the_length():
    scored = DyckCompletion().sample(2_000, 100, generator(0, "open")).scored
    assert (scored.sum(dim=1) - 1).double().mean() == pytest.approx(
        (2 * 100 / torch.pi) ** 0.5, rel=0.06
    )


@pytest.mark.parametrize("types", [1, 5, "all"])
def test_types_that_cannot_be(types):
    with pytest.raises(ConfigError, match=rf"task\.types={types}: .*from 2 to 4"):
        DyckCompletion(types=types)


def test_no_bracket_is_too_few():
    with pytest.raises(ConfigError, match="length 0: "):
        DyckCompletion().sample(1, 0, generator(0, "none"))
