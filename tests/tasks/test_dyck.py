"""Dyck language: which strings are balanced, how often each is drawn, and how they are broken."""

from collections import Counter

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.dyck import Dyck, balanced
from posenc.tasks.shared.brackets import typed


def drawn(task: Dyck, rows: int, length: int) -> dict[str, Counter]:
    """Shares of the strings with either answer."""
    sample = task.sample(rows, length, generator(0, "dyck"))
    counts = {"valid": Counter(), "invalid": Counter()}
    for prompt, (answer,) in zip(sample.prompt.tolist(), sample.answer.tolist(), strict=True):
        text = task.vocabulary.decode(prompt).replace(" ", "")
        counts[task.vocabulary.symbols[answer]][text] += 1 / rows
    return counts


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("( )", "valid"),
        (") (", "invalid"),
        ("( ) [ ]", "valid"),
        ("( [ ] )", "valid"),
        ("( [ ) ]", "invalid"),
        ("( ( [ ] ( ) ) ) [ ]", "valid"),
        ("( ) ) (", "invalid"),
    ],
)
def test_by_hand(prompt, answer):
    task = Dyck()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize("prompt", ["", "(", "( (", "( ]", "( ) valid", "( [ ] ]"])
def test_a_prompt_that_is_no_problem(prompt):
    task = Dyck()
    with pytest.raises(ValueError, match="as many that open as close"):
        task.solve(task.vocabulary.encode(prompt))


@pytest.mark.parametrize(("pairs", "strings"), [(1, 1), (2, 2), (3, 5), (4, 14), (5, 42)])
def test_all_balanced_strings_are_as_likely(pairs, strings):
    opens = balanced(300 * strings, pairs, generator(0, "balanced"))
    _, counts = opens.unique(dim=0, return_counts=True)
    assert len(counts) == strings
    assert (counts - 300).abs().max() < 4 * 300**0.5
    depth = (2 * opens.long() - 1).cumsum(dim=1)
    assert (depth >= 0).all()
    assert (depth[:, -1] == 0).all()


def test_types_are_uniform_and_match():
    opens = torch.tensor([[1, 1, 0, 1, 0, 0]], dtype=torch.bool).expand(9_000, -1)
    tokens = typed(opens, 3, generator(0, "types"))
    for left, right in ((0, 5), (1, 2), (3, 4)):
        assert torch.equal(tokens[:, left] + 3, tokens[:, right])
    _, counts = tokens[:, [0, 1, 3]].unique(dim=0, return_counts=True)
    assert len(counts) == 27
    assert (counts - 9_000 / 27).abs().max() < 4 * (9_000 / 27) ** 0.5


def test_strings_of_one_type_are_broken_as_is_said():
    """In (()) the first closing bracket may only change places with the first of all."""
    counts = drawn(Dyck(types=1), 40_000, 4)
    expected = {")(()": 1 / 4, "())(": 1 / 8, ")()(": 1 / 16, "))((": 1 / 16}
    assert counts["invalid"] == pytest.approx(expected, abs=0.01)
    assert counts["valid"] == pytest.approx({"(())": 1 / 4, "()()": 1 / 4}, abs=0.01)


def test_half_of_the_broken_strings_differ_by_types_alone():
    """All but those of one type only, which are one in eight at four pairs."""
    task = Dyck()
    prompt, answer = task.sample(20_000, 8, generator(0, "types"))[:2]
    invalid = prompt[answer[:, 0] == task.invalid]
    depth = (2 * (invalid < 2).long() - 1).cumsum(dim=1)
    by_types = (depth >= 0).all(dim=1).double().mean()
    assert by_types == pytest.approx(7 / 16, abs=0.02)
    assert len(invalid) == pytest.approx(10_000, abs=300)


def test_the_bag_tells_nothing():
    counts = drawn(Dyck(), 40_000, 6)
    valid, invalid = (
        sum((Counter({"".join(sorted(s)): p}) for s, p in counts[a].items()), Counter())
        for a in ("valid", "invalid")
    )
    assert set(valid) == set(invalid)
    assert valid == pytest.approx(invalid, abs=0.015)


def test_only_even_lengths():
    assert Dyck().lengths(0, 7) == [2, 4, 6]
    with pytest.raises(ConfigError, match="length 5: dyck has even lengths"):
        Dyck().sample(1, 5, generator(0, "length"))


@pytest.mark.parametrize("types", [0, 5, 1.5, "round"])
def test_types_that_cannot_be(types):
    with pytest.raises(ConfigError, match=rf"task\.types={types}: .*from 1 to 4"):
        Dyck(types=types)
