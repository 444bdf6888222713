"""Multi-query recall: where keys come again, what fills the rest, how fillers hide the values."""

from collections import Counter, defaultdict
from itertools import combinations, product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.mqar import MQAR, values_among_fillers


def small(**options) -> MQAR:
    return MQAR(symbols=12, pairs=2, **options)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("k1 v0 k2 v1 k1 _ k2 _", "v0 v1"),
        ("k1 v0 k2 v1 k2 _ k1 _", "v1 v0"),
        ("k5 v3 k2 v5 k4 v3 k2 _ _ k1 k5 v5", "v5 v3"),
    ],
)
def test_by_hand(prompt, answer):
    task = small(filler="random")
    tokens = task.vocabulary.encode(prompt)
    assert task.vocabulary.decode(task.solve(tokens)) == answer
    places = task.asked(torch.tensor([tokens])).nonzero()[:, 1]
    assert [tokens[place] for place in places] == [tokens[2 * p] for p in order(tokens, places)]


def order(tokens: list[int], places: torch.Tensor) -> list[int]:
    """Which pair each asked key is of."""
    return [tokens[:4:2].index(tokens[place]) for place in places]


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "k1 v0 k2 v1",
        "k1 v0 k2 v1 k1 _ _ k2",
        "k1 v0 k2 v1 k1 _ _ _",
        "k1 v0 k2 v0 k1 _ k2 _",
        "k1 v0 k1 v1 k1 _ k1 _",
        "k1 v0 k2 k3 k1 _ k2 _",
        "v1 v0 k2 v3 v1 _ k2 _",
        "_ v0 k2 v3 _ _ k2 _",
        "k1 v0 k2 v1 k1 k1 k2 _",
        "k1 v0 k2 v1 k1 _ k2",
        "k1 v0 k2",
    ],
)
def test_a_prompt_that_is_no_problem(prompt):
    task = small()
    with pytest.raises(ValueError, match="2 different keys"):
        task.solve(task.vocabulary.encode(prompt))


@pytest.mark.parametrize("power", [0.0, 0.01, 1.0, 2.0])
def test_keys_come_again_at_weighted_places(power):
    """Four places at two keys: the first is drawn by weight, the second by weight of the rest."""
    task = MQAR(symbols=16, pairs=2, power=power)
    prompt = task.sample(20_000, 12, generator(0, "places")).prompt
    keys, later = prompt[:, :4:2], prompt[:, 4::2]
    place = (later[:, None] == keys[:, :, None]).long().argmax(dim=2)
    met = Counter(map(tuple, place.tolist()))
    weights = [(g + 1) ** (power - 1) for g in range(4)]
    for first, second in product(range(4), repeat=2):
        expected = weights[first] / sum(weights) * weights[second]
        expected *= 20_000 * (first != second) / (sum(weights) - weights[first])
        assert abs(met[first, second] - expected) <= 4 * expected**0.5


def test_nothing_but_blanks_fills_by_default():
    sample = MQAR().sample(100, 64, generator(0, "blanks"))
    rest = sample.prompt[:, 8:][~sample.scored[:, 8:]]
    assert (rest == 0).all()
    assert (sample.scored.sum(dim=1) == 4).all()


def test_random_fillers_are_any_symbols_but_the_keys_of_the_row():
    sample = small(filler="random").sample(30_000, 10, generator(0, "fillers"))
    rest = sample.prompt[:, 4:][~sample.scored[:, 4:]].view(-1, 4)
    assert not (rest[:, :, None] == sample.prompt[:, None, :4:2]).any()
    counts = rest.flatten().bincount(minlength=12)
    other = torch.tensor([1.0] * 12)
    other[1:6] = 3 / 5  # no key of the row: two of five are
    expected = 120_000 / 10 * other
    assert ((counts - expected).abs() < 4 * expected.sqrt()).all()


def test_chance_with_blanks():
    assert MQAR().chance(64) == (1 / 24, 1 / 4)
    assert MQAR(pairs=64).chance(512).token == 1 / 64


@pytest.mark.parametrize("fillers", [0, 1, 2, 3])
def test_values_are_guessed_among_fillers_as_well_as_can_be(fillers):
    """All told pairs of five values, all fillers of which five in eight are values."""
    whole, each = defaultdict(Counter), defaultdict(Counter)
    for told in combinations(range(5), 2):
        for noise in product(range(8), repeat=fillers):
            bag = tuple(sorted([*told, *(token for token in noise if token < 5)]))
            whole[bag][told] += 1
            each[bag].update(told)
    total = 10 * 8**fillers
    best = [sum(max(bag.values()) for bag in table.values()) / total for table in (whole, each)]
    assert values_among_fillers(2, 5, fillers, 5 / 8) == pytest.approx(best, abs=0.005)


def test_lengths_are_even_and_have_room_for_all_keys():
    assert MQAR().lengths(1, 20) == [16, 18, 20]
    assert MQAR(pairs=8).lengths(1, 35) == [32, 34]
    for length in (14, 17):
        with pytest.raises(ConfigError, match=rf"length {length}: .*even lengths, from 16"):
            MQAR().sample(1, length, generator(0, "length"))


def test_symbols_are_more_than_places():
    assert small().lengths(1, 11) == [8, 10]
    with pytest.raises(ConfigError, match=r"symbols=12: .*symbols=13 or .*length\.test=11 or"):
        small().lengths(1, 12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": 16}, r"symbols=16: .*above 16"),
        ({"symbols": 99.5}, r"symbols=99\.5: .*above 16"),
        ({"pairs": 1}, r"pairs=1: .*at least 2"),
        ({"power": -1}, r"power=-1: .*from 0 to 100"),
        ({"power": "steep"}, r"power=steep: .*from 0 to 100"),
        ({"filler": "noise"}, r"filler=noise: .*blank, random"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=rf"task\.{message}"):
        MQAR(**options)
