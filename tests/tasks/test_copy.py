import pytest
import torch

from posenc.errors import ConfigError
from posenc.model.layout import slots
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.base import Chance
from posenc.tasks.copy import Copy


def test_by_hand():
    assert Copy().solve([99, 0, 99]) == [99, 0, 99]
    assert Copy(symbols=2).chance(2) == pytest.approx((3 / 4, 3 / 4))
    assert Copy(unique=True).chance(3) == Chance(1 / 6, 1 / 3)


def test_an_end_by_hand():
    assert Copy(symbols=10, end=True).solve([9, 0, 9]) == [9, 0, 9, 10]
    assert Copy(symbols=10, end=True).vocabulary.decode([9, 10]) == "9 end"
    assert Copy(symbols=2, end=True).chance(2) == pytest.approx((3 / 4, (2 * 3 / 4 + 1) / 3))
    assert Copy(unique=True, end=True).chance(3) == Chance(1 / 6, 2 / 4)


def test_draws_with_replacement_from_the_whole_alphabet():
    prompt = Copy(symbols=10).sample(200, 8, generator(0, "copy")).prompt
    assert prompt.unique().tolist() == list(range(10))
    assert min(len(row.unique()) for row in prompt) < 8


@pytest.mark.parametrize("length", [1, 5, 10])
def test_unique_symbols_never_repeat(length):
    prompt = Copy(symbols=10, unique=True).sample(200, length, generator(0, "copy")).prompt
    assert all(len(row.unique()) == length for row in prompt)
    assert prompt.unique().tolist() == list(range(10))


def test_every_order_of_unique_symbols_is_as_likely():
    prompt = Copy(symbols=3, unique=True).sample(6_000, 3, generator(0, "copy")).prompt
    _, counts = prompt.unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 1_000).abs().max() < 4 * (6_000 * 5 / 36) ** 0.5


def test_unique_symbols_end_with_the_alphabet():
    task = Copy(symbols=10, unique=True)
    assert task.lengths(8, 10) == [8, 9, 10]
    assert Copy(symbols=10).lengths(8, 12) == [8, 9, 10, 11, 12]
    for refused in (lambda: task.lengths(8, 11), lambda: task.sample(1, 11, generator(0, "copy"))):
        with pytest.raises(ConfigError, match=r"task\.symbols=10: .*symbols=11 .*test=10 or less"):
            refused()


def test_the_answer_is_a_tensor_of_its_own():
    sample = Copy().sample(2, 3, generator(0, "copy"))
    sample.prompt.zero_()
    assert sample.answer.any()


def test_a_symbol_shares_its_id_with_its_copy():
    sample = Copy().sample(2, 3, generator(0, "copy"))
    decoder, encoder = (
        Coupled().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[2, 3, 4, 1, 2, 3]]
    assert encoder == [[2, 3, 4, 2, 3, 4]]


def test_reorder_finds_the_other_order_of_two():
    assert all(
        Copy().reorder(torch.tensor([3, 5]), generator(seed, "order")).tolist() == [5, 3]
        for seed in range(20)
    )
    assert Copy().reorder(torch.tensor([4, 4]), generator(0, "order")).tolist() == [4, 4]


@pytest.mark.parametrize("symbols", [1, 0, -3, 2.5, "ten"])
def test_an_alphabet_that_cannot_be(symbols):
    with pytest.raises(ConfigError, match=rf"task\.symbols={symbols}: .*at least 2"):
        Copy(symbols=symbols)


@pytest.mark.parametrize("key", ["unique", "end"])
def test_a_flag_is_true_or_false(key):
    with pytest.raises(ConfigError, match=rf"task\.{key}=maybe: .*true or false"):
        Copy(**{key: "maybe"})
