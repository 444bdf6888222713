import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.repeat_token import RepeatToken


def test_by_hand():
    assert RepeatToken().solve([7]) == [7]
    assert RepeatToken().solve([7, 7, 7]) == [7, 7, 7]
    assert RepeatToken(symbols=8).chance(12) == (1 / 8, 1 / 8)


def test_an_end_by_hand():
    assert RepeatToken(symbols=8, end=True).solve([7, 7]) == [7, 7, 8]
    assert RepeatToken(symbols=8, end=True).chance(3) == (1 / 8, (3 / 8 + 1) / 4)


def test_every_row_has_one_symbol_and_all_symbols_occur():
    prompt = RepeatToken(symbols=6).sample(200, 5, generator(0, "repeat")).prompt
    assert (prompt == prompt[:, :1]).all()
    assert prompt.unique().tolist() == list(range(6))


def test_there_is_no_other_order():
    prompt = torch.full((4,), 9)
    assert RepeatToken().reorder(prompt, generator(0, "order")).equal(prompt)


def test_one_symbol_is_too_few():
    with pytest.raises(ConfigError, match=r"task\.symbols=1"):
        RepeatToken(symbols=1)
