import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.replace_token import ReplaceToken


def test_by_hand():
    assert ReplaceToken().solve([3, 8, 3]) == [8]
    assert ReplaceToken().solve([3, 8, 3, 3, 3]) == [8, 8, 8]
    assert ReplaceToken(symbols=8).chance(12) == (1 / 8, 1 / 8)


@pytest.mark.parametrize(
    "prompt", [[], [3], [3, 8], [3, 3, 3], [3, 8, 8], [3, 8, 3, 5], [3, 8, 3, 8]]
)
def test_what_is_no_prompt(prompt):
    with pytest.raises(ValueError, match="two different symbols"):
        ReplaceToken().solve(prompt)


def test_all_pairs_of_different_symbols_are_as_likely():
    prompt = ReplaceToken(symbols=4).sample(12_000, 2, generator(0, "replace")).prompt
    pairs, counts = prompt[:, :2].unique(dim=0, return_counts=True)
    assert len(pairs) == 12
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert (counts - 1_000).abs().max() < 4 * (12_000 * 11 / 144) ** 0.5


def test_the_bag_tells_the_answer():
    """It is the one symbol that is there once, so another order could not change it."""
    task = ReplaceToken(symbols=5)
    for length in (1, 2, 9):
        sample = task.sample(50, length, generator(0, "bag", length))
        for prompt, answer in zip(sample.prompt.tolist(), sample.answer.tolist(), strict=True):
            assert [symbol for symbol in prompt if prompt.count(symbol) == 1] == [answer[0]]


def test_one_symbol_is_too_few():
    with pytest.raises(ConfigError, match=r"task\.symbols=1"):
        ReplaceToken(symbols=1)
