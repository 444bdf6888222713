import pytest

from posenc.errors import ConfigError
from posenc.model.layout import slots
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.reverse import Reverse


@pytest.mark.parametrize(
    ("prompt", "answer"), [([1], [1]), ([0, 1], [1, 0]), ([0, 0, 1], [1, 0, 0])]
)
def test_by_hand(prompt, answer):
    assert Reverse().solve(prompt) == answer


def test_chance_by_hand():
    """00 and 11 are known, 01 and 10 are one bag: 3 bags of 4 strings, largest counts 2 2 1 1."""
    assert Reverse().chance(2) == pytest.approx((3 / 4, 6 / 8))
    assert Reverse().chance(3) == pytest.approx((4 / 8, (2 * 3 + 6 * 2) / 24))


def test_all_strings_are_as_likely():
    prompt = Reverse().sample(8_000, 3, generator(0, "reverse")).prompt
    _, counts = prompt.unique(dim=0, return_counts=True)
    assert len(counts) == 8
    assert (counts - 1_000).abs().max() < 4 * (8_000 * 7 / 64) ** 0.5


def test_a_symbol_shares_its_id_with_its_mirror_image():
    sample = Reverse().sample(2, 3, generator(0, "reverse"))
    decoder, encoder = (
        Coupled().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[1, 2, 3, 4, 3, 2]]
    assert encoder == [[1, 2, 3, 3, 2, 1]]


def test_one_symbol_is_too_few():
    with pytest.raises(ConfigError, match=r"task\.symbols=1"):
        Reverse(symbols=1)
