"""Sums, differences and products in every format that can be set."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.addition import Addition
from posenc.tasks.base import Chance
from posenc.tasks.multiplication import Multiplication
from posenc.tasks.shared.arithmetic import ORDERS, Arithmetic
from posenc.tasks.shared.notation import MARKERS
from posenc.tasks.subtraction import Subtraction

MCLEISH = {"padded": False, "second": "any"}
CHO = {"order": "answer_reversed"}
KINDS = [Addition, Subtraction, Multiplication]


def solved(task: Arithmetic, text: str) -> str:
    return task.vocabulary.decode(task.solve(task.vocabulary.encode(text)))


BY_HAND = [
    (Addition(**MCLEISH), "6 1 1 + 8 4", "4 6 1 end"),
    (Addition(**MCLEISH), "8 + 9 9 9", "7 0 0 1 end"),
    (Addition(**MCLEISH, order="plain"), "1 1 6 + 4 8", "1 6 4 end"),
    (Addition(**MCLEISH, order="answer_reversed"), "1 1 6 + 4 8", "4 6 1 end"),
    (Addition(second=1), "9 9 9 + 1", "0 0 0 1"),
    (Addition(second=3), "9 + 1 0 0", "0 1 0 0"),
    (Addition(hints=True), "m7 6 m8 1 + m7 8 m8 4", "m7 4 m8 6 m9 0"),
    (Addition(hints=True, order="plain"), "m8 1 m7 6 + m8 4 m7 8", "m9 0 m8 6 m7 4"),
    (Addition(hints=True), "m101 6 m0 9 + m101 8 m0 4", "m101 4 m0 4 m1 1"),
    (Addition(hints=True, **MCLEISH), "m7 6 + m7 8 m8 4", "m7 4 m8 5 end"),
    (Subtraction(), "6 1 1 - 8 4 0", "8 6 0"),
    (Subtraction(), "0 0 1 - 1 0 0", "9 9 0"),
    (Subtraction(order="plain"), "1 0 0 - 1 0 0", "0 0 0"),
    (Subtraction(**MCLEISH), "0 0 1 - 1", "9 9 end"),
    (Subtraction(**MCLEISH), "0 0 1 - 0 0 1", "0 end"),
    (Subtraction(**MCLEISH, order="plain"), "1 0 0 - 9 8", "2 end"),
    (Subtraction(second=1), "0 1 - 3", "7 0"),
    (Multiplication(), "6 1 * 8 4", "8 6 7 0"),
    (Multiplication(order="plain"), "9 9 * 9 9", "9 8 0 1"),
    (Multiplication(**CHO, second=2), "1 1 6 * 4 8", "8 6 5 5 0"),
    (Multiplication(**MCLEISH), "2 1 * 5", "0 6 end"),
    (Multiplication(**MCLEISH, order="plain"), "5 * 1 2 0", "6 0 0 end"),
    (Multiplication(second=1), "6 1 * 0", "0 0 0"),
]


@pytest.mark.parametrize(("task", "prompt", "answer"), BY_HAND)
def test_by_hand(task, prompt, answer):
    assert solved(task, prompt) == answer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("hints", [True, False])
@pytest.mark.parametrize("second", [None, "any", 3])
def test_sampled_answers_are_solutions_in_all_formats(kind, order, padded, hints, second):
    for base in (2, 10):
        task = kind(base=base, order=order, padded=padded, hints=hints, second=second)
        for length in task.lengths(1, 5):
            sample = task.sample(50, length, generator(0, "formats", length))
            posed = [task.pose(prompt) for prompt in sample.prompt.tolist()]
            assert sample.answer.tolist() == [each.answer[0].tolist() for each in posed]
            if not padded:
                assert sample.scored.tolist() == [each.scored[0].tolist() for each in posed]
            assert all(torch.equal(each.places, sample.places) for each in posed)
            assert all(torch.equal(each.coordinates, sample.coordinates) for each in posed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [2, 3, 10, 100])
def test_long_numbers_are_exact(kind, base):
    """The largest and the most ragged numbers of 500 digits, against Python's whole numbers."""
    top = torch.full((1, 2, 500), base - 1)
    low = torch.cat([torch.ones(1, 2, 1), torch.zeros(1, 2, 498), torch.ones(1, 2, 1)], dim=2)
    drawn = torch.randint(base, (3, 2, 500), generator=generator(0, "long"))
    numbers = torch.cat([top, low.long(), top - low.long(), drawn])
    numbers[3:, 1, 400:] = 0
    task = kind(base=base)
    width = task.width(500, 500)
    for (first, second), answer in zip(
        numbers.tolist(), task.answer(numbers, width).tolist(), strict=True
    ):
        values = [sum(d * base**w for w, d in enumerate(digits)) for digits in (first, second)]
        expected = task.result(*values)
        if expected >= 0:
            assert answer == [expected // base**w % base for w in range(width)]


@pytest.mark.parametrize("kind", KINDS)
def test_all_pairs_of_two_digits(kind):
    task = kind()
    numbers = torch.cartesian_prod(*[torch.arange(10)] * 4).view(-1, 2, 2)
    values = (numbers * torch.tensor([1, 10])).sum(2)
    fine = values[:, 0] >= values[:, 1] if kind is Subtraction else torch.ones(10_000).bool()
    width = task.width(2, 2)
    answers = (task.answer(numbers, width) * 10 ** torch.arange(width)).sum(1)
    expected = torch.tensor([task.result(*pair) for pair in values.tolist()])
    assert torch.equal(answers[fine], expected[fine])


@pytest.mark.parametrize("kind", KINDS)
def test_unpadded_numbers_are_uniform_without_a_leading_zero(kind):
    task = kind(base=3, padded=False)
    prompt = task.sample(36_000, 2, generator(0, "uniform")).prompt
    pairs = Counter(
        tuple(int(side[0] + 3 * side[1]) for side in (row[:2], row[3:])) for row in prompt.tolist()
    )
    for first, second in product(range(3, 9), repeat=2):
        share = 1
        if kind is Subtraction:
            share = 2 if first > second else int(first == second)
        assert abs(pairs[first, second] - 1_000 * share) <= 4 * (1_000 * share) ** 0.5


def test_the_larger_number_comes_first_in_a_subtraction():
    task = Subtraction(second=2)
    prompt = task.sample(2_000, 3, generator(0, "falling")).prompt
    first, second = (
        (prompt[:, :3] * torch.tensor([1, 10, 100])).sum(1),
        prompt[:, 4] + 10 * prompt[:, 5],
    )
    assert (first >= second).all()
    assert (first < 100).any()
    assert task.lengths(1, 4) == [2, 3, 4]
    for length in (1, 6):
        prompt = Subtraction(**MCLEISH).sample(9, length, generator(0, "falling")).prompt
        assert (prompt == task.join).nonzero()[:, 1].unique().tolist() == [length]


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("kind", [Addition, Multiplication])
def test_any_size_of_either_number(kind, padded):
    task = kind(padded=padded, second="any")
    shapes = Counter()
    for draw in range(600):
        sample = task.sample(3, 3, generator(draw, "any"))
        joins = (sample.prompt == task.join).nonzero()[:, 1].tolist()
        assert len(set(joins)) == 1
        shapes[joins[0], sample.prompt.shape[1] - joins[0] - 1] += 1
    assert set(shapes) == {(3, 1), (3, 2), (3, 3), (2, 3), (1, 3)}
    assert 150 < shapes[3, 3] < 250
    assert all(70 < shapes[shape] < 130 for shape in shapes if shape != (3, 3))
    assert task.varied
    assert task.largest(3).prompt.shape == (1, 7)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fixed_size_of_the_second_number(kind):
    task = kind(**MCLEISH)
    fixed = task.sized(2)
    assert (task.second, task.varied) == ("any", True)
    assert (fixed.second, fixed.varied) == (2, False)
    assert fixed.vocabulary is task.vocabulary
    sample = fixed.sample(5, 4, generator(0, "sized"))
    assert (sample.prompt[:, 4] == task.join).all()
    assert sample.prompt.shape == (5, 7)
    assert [task.solve(row) for row in sample.prompt.tolist()] == [
        fixed.solve(row) for row in sample.prompt.tolist()
    ]
    with pytest.raises(ConfigError, match=r"task\.second=0"):
        task.sized(0)


def marks(task: Arithmetic, text: str) -> tuple[list[int], list[int]]:
    sample = task.pose(task.vocabulary.encode(text))
    return sample.places[0].tolist(), sample.coordinates[0, :, 0].tolist()


@pytest.mark.parametrize(
    ("task", "text", "places", "coupled"),
    [
        (
            Addition(**MCLEISH),
            "6 1 1 + 8 4",
            [1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 0],
            [2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 5, 0],
        ),
        (
            Addition(**MCLEISH, order="plain"),
            "1 1 6 + 4 8",
            [1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 0],
            [4, 3, 2, 1, 3, 2, 6, 5, 4, 3, 2, 0],
        ),
        (
            Addition(hints=True),
            "m7 6 m8 1 + m7 8 m8 4",
            [0, 1, 0, 2, 0, 0, 1, 0, 2, 0, 0, 1, 0, 2, 0, 3],
            [0, 2, 0, 3, 1, 0, 2, 0, 3, 1, 0, 2, 0, 3, 0, 4],
        ),
        (
            Subtraction(),
            "6 1 - 8 0",
            [1, 2, 0, 1, 2, 0, 1, 2],
            [2, 3, 1, 2, 3, 1, 2, 3],
        ),
        (
            Multiplication(**CHO, second=2),
            "1 1 6 * 4 8",
            [1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 5],
            [4, 3, 2, 1, 3, 2, 1, 2, 3, 4, 5, 6],
        ),
    ],
)
def test_marks(task, text, places, coupled):
    assert marks(task, text) == (places, coupled)


def test_markers_start_anywhere_and_differ_between_problems():
    task = Addition(hints=True)
    starts = task.sample(5_000, 2, generator(0, "markers")).prompt[:, 0] - task.join - 1
    counts = starts.bincount(minlength=MARKERS)
    assert len(counts) == MARKERS
    assert 15 < counts.min() <= counts.max() < 95


def test_numbers_longer_than_there_are_markers_meet_them_again():
    task = Addition(hints=True)
    prompt = task.sample(1, 200, generator(0, "long")).prompt[0]
    assert prompt[0] == prompt[2 * MARKERS]
    assert task.solve(prompt.tolist()) == task.pose(prompt.tolist()).answer[0].tolist()


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (Addition(padded=False), "0 + 1"),
        (Addition(padded=False), "1 0 + 1 1"),
        (Addition(padded=False), "1 + 1 end"),
        (Addition(second=2), "1 + 1"),
        (Addition(**MCLEISH), "1 +"),
        (Addition(hints=True), "1 + 1"),
        (Addition(hints=True), "m1 1 + m2 1"),
        (Addition(hints=True), "m1 1 m1 1 + m1 1 m2 1"),
        (Addition(hints=True), "m1 + m1"),
        (Addition(hints=True), "m1 1 m2 + m1 1 m2"),
        (Addition(hints=True), "1 m1 + 1 m1"),
        (Subtraction(), "1 - 2"),
        (Subtraction(**MCLEISH), "2 - 1 1"),
        (Subtraction(), "1 - - 1"),
        (Multiplication(), "1 * 1 2"),
    ],
)
def test_a_prompt_that_is_no_problem(task, text):
    with pytest.raises(ValueError, match="two numbers"):
        task.solve(task.vocabulary.encode(text))


def best_guess(task: Arithmetic, length: int) -> Chance:
    """Every problem of a length, in plain Python; as often as it is drawn."""
    sizes = [length] if task.second is None else range(1, length + 1)
    exact = right = asked = 0.0
    for size in sizes:
        wholes, slots, problems = defaultdict(Counter), defaultdict(Counter), 0
        first, second = (
            range(0 if task.padded else task.base ** (digits - 1), task.base**digits)
            for digits in (length, size)
        )
        for pair in product(first, second):
            a, b = sorted(pair, reverse=True) if task.falling else pair
            digits = [a // task.base**w % task.base for w in range(length)]
            others = [b // task.base**w % task.base for w in range(size)]
            answer = task.solve([*digits, task.join, *others])
            bag = tuple(sorted(digits + others))
            wholes[bag][tuple(answer)] += 1
            for slot, token in enumerate(answer):
                slots[bag, slot][token] += 1
            problems += 1
        exact += sum(max(counts.values()) for counts in wholes.values()) / problems / len(sizes)
        right += sum(max(counts.values()) for counts in slots.values()) / problems
        asked += sum(sum(counts.values()) for counts in slots.values()) / problems
    return Chance(exact, right / asked)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("second", [None, "any"])
@pytest.mark.parametrize(("base", "length"), [(2, 1), (2, 4), (3, 3), (10, 2)])
def test_chance_is_that_of_the_best_guess(kind, padded, second, base, length):
    task = kind(base=base, padded=padded, second=second)
    assert task.chance(length) == pytest.approx(best_guess(task, length), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("base", "length"), [(10, 2), (6, 3)])
def test_an_estimated_chance_is_close(kind, base, length, monkeypatch):
    task = kind(base=base, **MCLEISH)
    exact = task.chance(length)
    monkeypatch.setattr("posenc.tasks.shared.arithmetic_chance.TRIED", 0)
    estimate = task.chance(length)
    assert estimate == task.chance(length)
    for found, known in zip(estimate, exact, strict=True):
        assert found == pytest.approx(known, abs=task.chance_error)


@pytest.mark.parametrize("kind", KINDS)
def test_markers_are_as_good_as_known(kind):
    for length in (1, 2):
        bare, hinted = kind().chance(length), kind(hints=True).chance(length)
        assert hinted == pytest.approx((bare.exact, (bare.token + 1) / 2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"second": 0}, r"task\.second=0: must be a number of digits"),
        ({"second": "many"}, r"task\.second=many: must be a number of digits"),
        ({"second": 1.5}, r"task\.second=1\.5"),
        ({"second": True}, r"task\.second=True"),
        ({"padded": 2}, r"task\.padded=2: must be true or false"),
        ({"hints": "yes"}, r"task\.hints=yes: must be true or false"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ConfigError, match=message):
        Addition(**settings)
