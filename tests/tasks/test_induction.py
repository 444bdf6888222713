import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.induction import Induction


@pytest.mark.parametrize(
    ("prompt", "answer"), [("* 3 *", "3"), ("0 * 1 *", "1"), ("2 2 * 0 1 2 *", "0")]
)
def test_by_hand(prompt, answer):
    task = Induction()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize("prompt", ["", "*", "1", "* *", "0 * *", "0 1 *", "* 1 0", "* 0 * 1 *"])
def test_a_prompt_that_is_no_problem(prompt):
    task = Induction()
    with pytest.raises(ValueError, match="one \\* and a symbol behind it"):
        task.solve(task.vocabulary.encode(prompt))


def test_chance_by_hand():
    """Of 00 and 11 the symbol is known, of 01 and 10 it is either."""
    assert Induction().chance(3) == (1, 1)
    assert Induction(symbols=2).chance(4) == pytest.approx((3 / 4, 3 / 4))


def test_all_places_and_symbols_are_as_likely():
    task = Induction(symbols=3)
    prompt = task.sample(18_000, 5, generator(0, "induction")).prompt
    _, counts = prompt.unique(dim=0, return_counts=True)
    assert len(counts) == 3 * 3**3
    mean = 18_000 / 81
    assert (counts - mean).abs().max() < 5 * mean**0.5


@pytest.mark.parametrize("length", [1, 2])
def test_a_length_without_room_is_refused(length):
    with pytest.raises(ConfigError, match=rf"length {length}: "):
        Induction().sample(1, length, generator(0, "induction"))


def test_one_symbol_is_too_few():
    with pytest.raises(ConfigError, match=r"task\.symbols=1"):
        Induction(symbols=1)
