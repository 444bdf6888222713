import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.needle import Needle


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [("k0 v1 k0", "v1"), ("k1 k0 v2 k0", "v2"), ("v0 v0 k1 k1 k2 v3 v0 k2", "v3")],
)
def test_by_hand(prompt, answer):
    task = Needle()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize(
    "prompt", ["", "v0", "k0", "k0 v1", "k1 v1 k0", "k0 k0", "k0 k1 k0", "k0 v1 k0 v1 k0"]
)
def test_a_prompt_that_is_no_problem(prompt):
    task = Needle()
    with pytest.raises(ValueError, match="key"):
        task.solve(task.vocabulary.encode(prompt))


def test_chance_by_hand():
    """One filler is a key, one of two a value: it equals the needle's once in two."""
    task = Needle(symbols=4)
    assert task.chance(3) == task.chance(4) == (1, 1)
    assert task.chance(5) == pytest.approx((3 / 4, 3 / 4))


def test_the_pair_may_stand_anywhere_and_the_noise_is_half_and_half():
    sample = Needle().sample(8_000, 10, generator(0, "needle"))
    key = sample.prompt[:, -1:]
    here = sample.prompt[:, :-1] == key
    assert (here.sum(dim=1) == 1).all()
    counts = here.sum(dim=0)
    assert counts[8] == 0
    assert (counts[:8] - 1_000).abs().max() < 4 * 875**0.5
    assert ((sample.prompt >= 16).sum(dim=1) == 1 + 3).all()


def test_any_noise_is_as_likely_at_any_place():
    """Eleven prompts a place of the pair: a key or value of two kinds, in either order."""
    prompt = Needle(symbols=6).sample(54_000, 5, generator(0, "noise")).prompt
    assert len(prompt.unique(dim=0)) == 3 * 3 * 3 * 2 * (2 * 3)
    for place in range(4):
        value = prompt[:, place] >= 3
        assert 0.3 < value.double().mean() < 0.7


@pytest.mark.parametrize("length", [1, 2])
def test_a_length_without_room_is_refused(length):
    with pytest.raises(ConfigError, match=rf"length {length}: "):
        Needle().sample(1, length, generator(0, "needle"))


def test_symbols_that_cannot_be():
    with pytest.raises(ConfigError, match=r"task\.symbols=2: must be an even number, at least 4"):
        Needle(symbols=2)
