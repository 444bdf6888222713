import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.first_of_two import FirstOfTwo


@pytest.mark.parametrize(
    ("text", "first"), [("A B", "A"), ("B A", "B"), ("0 B 9 A", "B"), ("A 1 1 B 0", "A")]
)
def test_by_hand(text, first):
    task = FirstOfTwo()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(text))) == first


@pytest.mark.parametrize("text", ["A", "A A", "1 2", "A B A"])
def test_what_is_no_prompt(text):
    with pytest.raises(ValueError, match="two different letters"):
        FirstOfTwo().solve(FirstOfTwo().vocabulary.encode(text))


def test_every_pair_of_letters_at_every_pair_of_places_is_as_likely():
    prompt = FirstOfTwo(marked=3, fillers=1).sample(36_000, 4, generator(0, "first")).prompt
    _, counts = prompt.unique(dim=0, return_counts=True)
    assert len(counts) == 6 * 6
    assert (counts - 1_000).abs().max() < 4 * 1_000**0.5


def test_reorder_exchanges_the_letters_alone():
    task = FirstOfTwo()
    prompt = torch.tensor(task.vocabulary.encode("4 A 0 B 7"))
    reordered = task.reorder(prompt, generator(0, "order"))
    assert task.vocabulary.decode(reordered.tolist()) == "4 B 0 A 7"


@pytest.mark.parametrize(
    ("key", "value", "right"), [("marked", 1, "2 to 26"), ("marked", 27, "2"), ("fillers", 0, "1")]
)
def test_settings_that_cannot_be(key, value, right):
    with pytest.raises(ConfigError, match=rf"task\.{key}={value}: must be a whole .*{right}"):
        FirstOfTwo(**{key: value})
