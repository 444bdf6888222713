import pytest
import torch

from posenc.errors import ConfigError
from posenc.model.layout import slots
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.selective_copy import SelectiveCopy


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [("1 2 3 4", "1 2 3 4"), (". 0 . 14 14 . . 0", "0 14 14 0"), ("3 . . 2 1 0 .", "3 2 1 0")],
)
def test_by_hand(prompt, answer):
    task = SelectiveCopy()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize("prompt", ["", ". .", "1 2 . 3", "1 2 3 4 5"])
def test_a_prompt_that_is_no_problem(prompt):
    task = SelectiveCopy()
    with pytest.raises(ValueError, match="data tokens, not 4"):
        task.solve(task.vocabulary.encode(prompt))


def test_chance_by_hand():
    """Three bags of two bits, of which 01 has two orders."""
    assert SelectiveCopy(symbols=2, data=2).chance(30) == pytest.approx((3 / 4, 3 / 4))
    assert SelectiveCopy().chance(4) == SelectiveCopy().chance(4096)


def test_all_prompts_are_as_likely():
    task = SelectiveCopy(symbols=2, data=2)
    _, counts = task.sample(12_000, 4, generator(0, "all")).prompt.unique(dim=0, return_counts=True)
    assert len(counts) == 6 * 4
    assert (counts - 500).abs().max() < 4 * 500**0.5


def test_data_are_coupled_and_noise_is_not():
    task = SelectiveCopy(data=2)
    sample = task.pose(task.vocabulary.encode(". 7 . . 7 ."))
    decoder, encoder = (
        Coupled().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[0, 2, 0, 0, 3, 0, 1, 2]]
    assert encoder == [[0, 2, 0, 0, 3, 0, 2, 3]]
    assert torch.equal(sample.scored, torch.ones(1, 2, dtype=torch.bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"data": 1}, "data=1: .*at least 2"), ({"symbols": 1}, "symbols=1: .*at least 2")],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=rf"task\.{message}"):
        SelectiveCopy(**options)


def test_a_length_without_room_is_refused():
    assert SelectiveCopy(data=6).lengths(1, 8) == [6, 7, 8]
    with pytest.raises(ConfigError, match=r"length 5: too short for task\.data=6"):
        SelectiveCopy(data=6).sample(1, 5, generator(0, "short"))
