"""Flip-flop: what is read, how often, and how well a bag of tokens tells it."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.flip_flop import FlipFlop


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("w 0 r", "0"),
        ("w 1 i 0 r", "1"),
        ("w 1 w 0 r", "0"),
        ("w 1 r 1 w 0 r 0 i 1 r", "1 0 0"),
    ],
)
def test_by_hand(prompt, answer):
    task = FlipFlop()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize(
    "prompt",
    ["", "w", "r", "w 1", "w 1 i", "i 1 r", "r 1 r", "w 1 r 0 r", "w r 1", "w 1 r 1", "w w r"],
)
def test_a_prompt_that_is_no_problem(prompt):
    task = FlipFlop()
    with pytest.raises(ValueError, match=r"instructions and bits|written last"):
        task.solve(task.vocabulary.encode(prompt))


@pytest.mark.parametrize("ignore", [0.1, 0.8, 0.98])
def test_instructions_and_bits_come_as_often_as_they_should(ignore):
    prompt = FlipFlop(ignore=ignore).sample(2_000, 22, generator(0, "law")).prompt
    instructions, bits = prompt[:, ::2], prompt[:, 1::2]
    assert (instructions[:, 0] == 0).all()
    assert (instructions[:, -1] == 1).all()
    counts = instructions[:, 1:-1].flatten().bincount(minlength=3) / 18_000
    other = (1 - ignore) / 2
    expected = torch.tensor([other, other, ignore])
    assert ((counts - expected).abs() < 4 * (expected * (1 - expected) / 18_000).sqrt()).all()
    for instruction in (0, 2):
        ones = (bits[instructions[:, :-1] == instruction] == 4).double()
        assert abs(ones.mean() - 0.5) < 2 / len(ones) ** 0.5


def best_guess(pairs: int, ignore: float) -> tuple[float, float]:
    """All texts, in plain Python: the likeliest answer, and bit of every read, of each bag."""
    wholes, slots, reads = defaultdict(Counter), defaultdict(Counter), 0.0
    steps = [("w", 0), ("w", 1), ("i", 0), ("i", 1), ("r", None)]
    law = {"w": (1 - ignore) / 4, "i": ignore / 2, "r": (1 - ignore) / 2}
    for first, *middle in product(steps, repeat=pairs - 1):
        if first[0] != "w":
            continue
        probability, stored, bag, answer = 0.5, first[1], Counter([first]), []
        for kind, bit in middle:
            probability *= law[kind]
            stored = bit if kind == "w" else stored
            if kind == "r":
                answer.append(stored)
            bag.update([kind, bit if kind == "i" else stored])
        answer.append(stored)
        bag.update(first)
        del bag[first]
        key = tuple(sorted(bag.items(), key=str))
        wholes[key][tuple(answer)] += probability
        reads += probability * len(answer)
        for slot, bit in enumerate(answer):
            slots[key, slot][bit] += probability
    exact, token = (sum(max(c.values()) for c in t.values()) for t in (wholes, slots))
    return exact, token / reads


@pytest.mark.parametrize("ignore", [0.1, 0.8])
@pytest.mark.parametrize("length", [4, 6, 8, 12])
def test_chance_is_that_of_the_best_guess(length, ignore):
    chance = FlipFlop(ignore=ignore).chance(length)
    assert chance == pytest.approx(best_guess(length // 2, ignore), rel=1e-9)


@pytest.mark.parametrize("ignore", [0.02, 0.1, 0.5, 0.8, 0.98])
def test_the_commoner_bit_is_the_best_guess_of_a_read(ignore):
    task = FlipFlop(ignore=ignore)
    for pairs in (2, 3, 4, 5, 6, 7, 8):
        best, repeated = task.chance(2 * pairs), task._repeated(pairs)
        assert repeated.token == pytest.approx(best.token, rel=1e-9)
        assert best.exact - task.chance_error <= repeated.exact <= best.exact + 1e-9


@pytest.mark.parametrize("ignore", [0.1, 0.8])
def test_long_texts_are_guessed_as_well_as_is_said(ignore):
    task = FlipFlop(ignore=ignore)
    sample = task.sample(20_000, 60, generator(0, "long"))
    ones = (sample.prompt == 4).sum(dim=1) > (sample.prompt == 3).sum(dim=1)
    right = (sample.answer == 3 + ones[:, None].long()) & sample.scored
    chance = task.chance(60)
    assert right.sum() / sample.scored.sum() == pytest.approx(chance.token, abs=0.01)
    whole = (right == sample.scored).all(dim=1).double().mean()
    assert whole == pytest.approx(chance.exact, abs=0.01)


def test_reorder_exchanges_the_last_bit_for_ignored_ones():
    task = FlipFlop()
    prompt = torch.tensor(task.vocabulary.encode("w 0 w 0 r 0 i 1 i 0 i 1 r"))
    other = task.reorder(prompt, generator(0, "order"))
    assert task.vocabulary.decode(other.tolist()) == "w 0 w 1 r 1 i 0 i 0 i 0 r"


@pytest.mark.parametrize("ignore", [0, 1, 0.0, 1.0, -0.5, "most"])
def test_a_share_that_cannot_be(ignore):
    with pytest.raises(ConfigError, match=rf"task\.ignore={ignore}: .*between 0 and 1"):
        FlipFlop(ignore=ignore)


def test_only_even_lengths():
    assert FlipFlop().lengths(1, 9) == [4, 6, 8]
    for length in (2, 5):
        with pytest.raises(ConfigError, match=rf"length {length}: .*even lengths, from 4"):
            FlipFlop().sample(1, length, generator(0, "length"))
