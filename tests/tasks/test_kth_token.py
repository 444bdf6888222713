import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.kth_token import KthToken


def solved(task: KthToken, text: str) -> str:
    return task.vocabulary.decode(task.solve(task.vocabulary.encode(text)))


def test_by_hand():
    assert solved(KthToken(), "0 0 1 z") == "z"
    assert solved(KthToken(), "0 1 0 a b c d e f g h i j k") == "j"
    assert solved(KthToken(largest=9), "2 a b c") == "b"
    assert solved(KthToken(largest=10), "0 2 a b c") == "b"


def test_chance_by_hand():
    """Of two symbols, aa and bb tell the answer, ab and ba do not."""
    assert KthToken(symbols=2).chance(2) == pytest.approx((3 / 4, 3 / 4))


@pytest.mark.parametrize(
    "text", ["0 0 0 a b", "0 0 3 a b", "0 1 a b", "a 0 1 b", "0 0 1 a 2", "0 0 1", "b a d a"]
)
def test_what_is_no_prompt(text):
    with pytest.raises(ValueError, match="not a place in 3-digit form and then letters"):
        solved(KthToken(), text)


def test_no_number_is_above_the_largest():
    assert solved(KthToken(largest=12), "1 2 a b c d e f g h i j k l m") == "l"
    with pytest.raises(ValueError, match="2-digit form"):
        solved(KthToken(largest=12), "1 3 a b c d e f g h i j k l m")
    assert KthToken(largest=2).vocabulary.symbols[:3] == ("1", "2", "a")


@pytest.mark.parametrize(("largest", "length", "most"), [(999, 12, 12), (9, 12, 9), (9, 4, 4)])
def test_every_place_is_as_likely(largest, length, most):
    task = KthToken(largest=largest)
    prompts = task.sample(1_000 * most, length, generator(0, "k", length)).prompt
    width = len(str(largest))
    numbers = [int("".join(task.vocabulary.decode(row[:width]).split())) for row in prompts]
    assert set(numbers) == set(range(1, most + 1))
    bound = 4 * (1_000 * (1 - 1 / most)) ** 0.5
    assert all(abs(numbers.count(k) - 1_000) < bound for k in set(numbers))


@pytest.mark.parametrize("symbols", [1, 27, 2.5])
def test_an_alphabet_that_cannot_be(symbols):
    with pytest.raises(ConfigError, match=rf"task\.symbols={symbols}: .* number from 2 to 26"):
        KthToken(symbols=symbols)


def test_a_place_that_cannot_be():
    with pytest.raises(ConfigError, match=r"task\.largest=0: must be a whole number, at least 1"):
        KthToken(largest=0)
