import pytest

from posenc.model.layout import slots
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.missing_duplicate import MissingDuplicate


@pytest.mark.parametrize(
    ("text", "bit"),
    [("1 _", 1), ("_ 0", 0), ("1 _ .", 1), ("0 1 1 0 1 _", 1), ("0 _ 0 1", 1), ("_ 1 0 1 .", 0)],
)
def test_by_hand(text, bit):
    task = MissingDuplicate()
    assert task.solve(task.vocabulary.encode(text)) == [bit]


@pytest.mark.parametrize(
    "text",
    ["", "1", "_", "1 1", "_ _", "1 _ 0", "0 _ 1 1", ". _", "_ . .", "0 1 0 _ _", "_ 1 1 _"],
)
def test_what_is_no_prompt(text):
    task = MissingDuplicate()
    with pytest.raises(ValueError, match="not bits written twice"):
        task.solve(task.vocabulary.encode(text))


def test_every_prompt_is_as_likely():
    prompt = MissingDuplicate().sample(16_000, 5, generator(0, "missing")).prompt
    prompts, counts = prompt.unique(dim=0, return_counts=True)
    assert len(prompts) == 4 * 4
    assert (counts - 1_000).abs().max() < 4 * 1_000**0.5


def test_it_is_a_parity_in_disguise():
    for length in (2, 5, 40):
        sample = MissingDuplicate().sample(1_000, length, generator(0, "parity", length))
        assert ((sample.prompt == 1).sum(dim=1) % 2).equal(sample.answer[:, 0])


def test_both_copies_of_a_bit_share_an_id():
    for length, ids in ((4, [2, 3, 2, 3]), (5, [2, 3, 2, 3, 0])):
        sample = MissingDuplicate().sample(2, length, generator(0, "missing"))
        for causal in (True, False):
            shown = slots(sample, causal=causal)
            assert Coupled().evaluate(shown, generator(0, "ids")).tolist() == [[*ids, 1]]


def test_a_single_token_holds_nothing_twice():
    assert MissingDuplicate().lengths(1, 4) == [2, 3, 4]
