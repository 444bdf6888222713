"""Stack manipulation: pops of an empty stack, terminators, what a bag tells of the final stack."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.seeding import generator
from posenc.tasks.shared.stack_chance import blind_chance
from posenc.tasks.stack_manipulation import StackManipulation

NAMES = {"0": "0", "1": "1", "-": "pop", "o": "push0", "l": "push1"}


@pytest.fixture
def task():
    return StackManipulation()


def encoded(task, text):
    return task.vocabulary.encode(" ".join(NAMES[letter] for letter in text))


@pytest.mark.parametrize(
    ("prompt", "stack"),
    [
        ("0", "0"),
        ("1", "1"),
        ("1-", ""),
        ("1o", "01"),
        ("1l", "11"),
        ("01", "10"),
        ("0--", ""),
        ("0--l", "1"),
        ("0---lo", "01"),
        ("0---lo--o", "0"),
        ("011", "110"),
        ("011-ll-", "110"),
        ("1" + 9 * "o", 9 * "0" + "1"),
    ],
)
def test_by_hand(task, prompt, stack):
    tokens = encoded(task, prompt)
    assert task.vocabulary.decode(task.solve(tokens)) == " ".join([*stack, "end"])
    posed = task.pose(tokens)
    assert posed.answer.shape == (1, len(prompt) + 1)
    assert posed.scored.sum() == len(stack) + 1


@pytest.mark.parametrize("prompt", ["", "-", "l0", "0-1", "0l1"])
def test_a_prompt_that_is_no_problem(task, prompt):
    with pytest.raises(ValueError, match="stack of bits"):
        task.solve(encoded(task, prompt))


def test_the_end_is_no_prompt(task):
    with pytest.raises(ValueError, match="stack of bits"):
        task.solve(task.vocabulary.encode("0 end"))


@pytest.mark.parametrize(("length", "share"), [(1, 0), (2, 1 / 3), (5, 0.03), (20, 0.003)])
def test_published_share_of_empty_stacks(task, length, share):
    rows = 40_000
    sample = task.sample(rows, length, generator(0, "empty", length))
    assert (sample.scored.sum(dim=1) == 1).double().mean() == pytest.approx(share, abs=0.005)


def test_stacks_have_any_height_as_often_and_actions_are_uniform(task):
    prompt = task.sample(19_000, 20, generator(0, "heights")).prompt
    heights = (prompt < 2).sum(dim=1).bincount(minlength=21)
    assert heights[[0, 20]].tolist() == [0, 0]
    assert (heights[1:20] - 1_000).abs().max() < 4 * 1_000**0.5
    counts = prompt.flatten().bincount(minlength=5)
    for part in (counts[:2], counts[2:]):
        assert (part / part.sum() - 1 / len(part)).abs().max() < 0.005


def best_guess(task, length):
    wholes, slots, tokens = defaultdict(Counter), defaultdict(Counter), 0.0
    for given in range(1, max(length, 2)):
        actions = length - given
        weight = 1 / max(length - 1, 1) / 2**given / 3**actions
        for prompt in product(*[range(2)] * given, *[range(2, 5)] * actions):
            bag, answer = tuple(sorted(prompt)), task.solve(list(prompt))
            wholes[bag][tuple(answer)] += weight
            tokens += weight * len(answer)
            for slot, token in enumerate(answer):
                slots[bag, slot][token] += weight
    exact, token = (sum(max(c.values()) for c in table.values()) for table in (wholes, slots))
    return exact, token / tokens


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_chance_is_that_of_the_best_guess(task, length):
    assert task.chance(length) == pytest.approx(best_guess(task, length))


@pytest.mark.parametrize("length", [2, 4, 7, 9])
def test_chance_of_long_prompts_agrees_with_that_of_short_ones(task, length):
    exact = task.chance(length)
    closed = blind_chance(task.sample(20_000, length, generator(0, "closed", length)).prompt)
    assert closed.token == pytest.approx(exact.token, abs=0.003)
    assert exact.exact - 0.005 < closed.exact < exact.exact + 0.07


def test_chance_of_one_bag_by_hand(task):
    """0 given, a pop and a push of 1: either order leaves 1 alone, or 1 on 0 and then nothing."""
    chance = blind_chance(torch.tensor([encoded(task, "0-l")]))
    # pop, push1 -> 1 end; push1, pop -> 0 end
    assert chance.token == pytest.approx((0.5 + 1) / 2)
    assert 0.5 <= chance.exact <= 1


def test_reorder_keeps_the_given_stack_apart(task):
    prompt = torch.tensor(encoded(task, "0110-ol--"))
    reordered = task.reorder(prompt, generator(0, "order"))
    assert sorted(reordered[:4].tolist()) == [0, 0, 1, 1]
    assert sorted(reordered[4:].tolist()) == [2, 2, 2, 3, 4]
