import pytest

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.associative_recall import AssociativeRecall


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [("k0 v1 k0", "v1"), ("k0 v1 k1 v0 k0", "v1"), ("k2 v2 k0 v1 k1 v0 k1", "v0")],
)
def test_by_hand(prompt, answer):
    task = AssociativeRecall(symbols=6)
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "k0",
        "k0 v1",
        "k0 v1 k1",
        "k0 v1 v1",
        "v1 k0 k0",
        "k0 v1 k0 v2 k0",
        "k0 v1 k1 v1 k0",
        "k0 v1 k1 v2",
        "k0 k1 k0",
    ],
)
def test_a_prompt_that_is_no_problem(prompt):
    task = AssociativeRecall(symbols=6)
    with pytest.raises(ValueError, match="different keys"):
        task.solve(task.vocabulary.encode(prompt))


def test_only_odd_lengths():
    task = AssociativeRecall()
    assert task.lengths(1, 9) == [3, 5, 7, 9]
    for length in (1, 2, 4):
        with pytest.raises(ConfigError, match=rf"length {length}: .*odd lengths, from 3"):
            task.sample(1, length, generator(0, "recall"))


def test_every_pair_is_asked_for_as_often():
    prompt = AssociativeRecall(symbols=8).sample(9_000, 7, generator(0, "recall")).prompt
    asked = (prompt[:, :-1:2] == prompt[:, -1:]).sum(dim=0)
    assert asked.sum() == 9_000
    assert (asked - 3_000).abs().max() < 4 * 2_000**0.5


def test_too_few_keys_are_refused_before_a_run():
    task = AssociativeRecall(symbols=6)
    assert task.lengths(1, 8) == [3, 5, 7]
    with pytest.raises(ConfigError, match=r"symbols=6: .*4 different keys.*symbols=8 or.*test=7 "):
        task.lengths(1, 9)


@pytest.mark.parametrize("symbols", [2, 5, 6.0, "many"])
def test_symbols_that_cannot_be(symbols):
    with pytest.raises(ConfigError, match=rf"task\.symbols={symbols}: must be an even number"):
        AssociativeRecall(symbols=symbols)
