"""Addition: digits, their order and carries, and the ids that couple digits of equal weight."""

from collections import Counter, defaultdict
from itertools import product

import pytest
import torch

from posenc.errors import ConfigError
from posenc.model.layout import slots
from posenc.positions.abacus import Abacus
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.addition import Addition
from posenc.tasks.base import Chance, Sample
from posenc.tasks.shared.arithmetic import ORDERS
from posenc.tasks.shared.sums import carried


def asked(task: Addition, text: str) -> Sample:
    """What show.py makes of a prompt."""
    prompt = task.vocabulary.encode(text)
    return task.marked(Sample(torch.tensor([prompt]), torch.tensor([task.solve(prompt)])))


@pytest.mark.parametrize(
    ("order", "prompt", "answer"),
    [
        ("reversed", "6 1 1 + 8 4 0", "4 6 1 0"),
        ("answer_reversed", "1 1 6 + 0 4 8", "4 6 1 0"),
        ("plain", "1 1 6 + 0 4 8", "0 1 6 4"),
        ("reversed", "9 9 9 + 1 0 0", "0 0 0 1"),
        ("plain", "9 9 9 + 0 0 1", "1 0 0 0"),
        ("plain", "0 + 0", "0 0"),
        ("answer_reversed", "9 + 9", "8 1"),
    ],
)
def test_by_hand(order, prompt, answer):
    task = Addition(order=order)
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(prompt))) == answer


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("base", [2, 10, 16])
def test_sampled_answers_are_solutions_in_every_order_and_base(order, base):
    task = Addition(base=base, order=order)
    for length in (1, 2, 5, 40):
        sample = task.sample(200, length, generator(0, "order", length))
        assert sample.prompt.shape == (200, 2 * length + 1)
        assert sample.answer.tolist() == [task.solve(row) for row in sample.prompt.tolist()]


def test_carries_run_through_any_number_of_nines():
    """All sums of three digits of either number, against Python's own addition."""
    sums = torch.cartesian_prod(*[torch.arange(19)] * 3)
    expected = [int(a + 10 * b + 100 * c) for a, b, c in sums]
    digits = carried(sums, 10)
    assert (digits * 10 ** torch.arange(4)).sum(1).tolist() == expected
    ripple = carried(torch.tensor([[10] + [9] * 60, [9] * 61, [8, 10] + [9] * 59]), 10)
    assert ripple.tolist() == [[0] * 61 + [1], [9] * 61 + [0], [8] + [0] * 60 + [1]]


def test_numbers_are_uniform_with_leading_zeros():
    prompt = Addition(base=3).sample(9_000, 2, generator(0, "uniform")).prompt
    for number in (prompt[:, :2], prompt[:, 3:]):
        counts = (number * torch.tensor([1, 3])).sum(1).bincount(minlength=9)
        assert (counts - 1_000).abs().max() < 4 * (9_000 * 8 / 81) ** 0.5


COUPLED = {  # of 116 + 048, as published; a reader of numbers turned round meets the same weights
    "answer_reversed": ("1 1 6 + 0 4 8", [4, 3, 2, 1, 4, 3, 2], 1, [2, 3, 4, 5]),
    "reversed": ("6 1 1 + 8 4 0", [2, 3, 4, 1, 2, 3, 4], 1, [2, 3, 4, 5]),
    "plain": ("1 1 6 + 0 4 8", [4, 3, 2, 1, 4, 3, 2], 6, [5, 4, 3, 2]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_digits_of_equal_weight_share_an_id(order):
    text, prompt, ask, answer = COUPLED[order]
    sample = asked(Addition(order=order), text)
    decoder, encoder = (
        Coupled().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[*prompt, ask, *answer[:-1]]]
    assert encoder == [[*prompt, *answer]]


@pytest.mark.parametrize("order", ORDERS)
def test_places_restart_at_every_number(order):
    sample = asked(Addition(order=order), COUPLED[order][0])
    decoder, encoder = (
        Abacus().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]]
    assert encoder == [[1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 4]]


def test_in_training_digits_are_moved_and_nothing_else():
    shown = slots(Addition().sample(4, 2, generator(0, "moved")), causal=True)
    for source, kept in ((Abacus(), [2, 5]), (Coupled(), [])):
        still = source.evaluate(shown, generator(0, "still"))
        moved = source.train(shown, generator(0, "moved"))
        shifts = (moved - still)[0]
        assert shifts[kept].tolist() == [0] * len(kept)
        rest = shifts[[place for place in range(len(shifts)) if place not in kept]]
        assert rest.unique().numel() == 1
        assert 0 < rest[0] <= 99


@pytest.mark.parametrize(
    "text", ["", "+", "1", "1 2", "1 2 3", "+ 1", "1 + +", "1 + 2 3", "1 2 + 3", "1 + 2 +"]
)
def test_a_prompt_that_is_no_problem(text):
    task = Addition()
    prompt = task.vocabulary.encode(text)
    with pytest.raises(ValueError, match="two numbers"):
        task.solve(prompt)


@pytest.mark.parametrize("order", ORDERS)
def test_reorder_changes_the_sum_wherever_an_order_does(order):
    task = Addition(base=2, order=order)
    for digits in product(range(2), repeat=6):
        prompt = [*digits[:3], task.join, *digits[3:]]
        other = task.reorder(torch.tensor(prompt), generator(0, "order", *digits)).tolist()
        assert (task.solve(other) != task.solve(prompt)) == (len(set(digits)) > 1)


def test_reorder_of_single_digits_swaps_the_numbers():
    swapped = Addition().reorder(torch.tensor([3, 10, 5]), generator(0, "order"))
    assert swapped.tolist() == [5, 10, 3]


def best_guess(base: int, length: int) -> Chance:
    """Every problem, in plain Python."""
    wholes, slots, problems = defaultdict(Counter), defaultdict(Counter), base ** (2 * length)
    for first, second in product(range(base**length), repeat=2):
        digits = [n // base**w % base for n in (first, second) for w in range(length)]
        bag = tuple(sorted(digits))
        wholes[bag][first + second] += 1
        for weight in range(length + 1):
            slots[bag, weight][(first + second) // base**weight % base] += 1
    exact, token = (
        sum(max(counts.values()) for counts in table.values()) / problems
        for table in (wholes, slots)
    )
    return Chance(exact, token / (length + 1))


SMALL = [(2, 1), (2, 2), (2, 5), (3, 3), (10, 1), (10, 2)]


@pytest.mark.parametrize(("base", "length"), SMALL)
def test_chance_is_that_of_the_best_guess(base, length):
    assert Addition(base=base).chance(length) == pytest.approx(best_guess(base, length), rel=1e-11)


@pytest.mark.parametrize("length", [3, 5, 8])
def test_chance_of_longer_numbers_is_that_of_a_guess_that_has_met_many_orders(length):
    stream, bags, orders = generator(0, "orders", length), 400, 800
    digits = torch.randint(10, (bags, 1, 2 * length), generator=stream).expand(-1, orders, -1)
    numbers = digits.gather(2, torch.rand(digits.shape, generator=stream).argsort(2))
    sums = carried(numbers.reshape(bags * orders, 2, length).sum(1), 10)
    met, asked = sums.view(bags, orders, length + 1).chunk(2, dim=1)
    token = (asked == met.mode(dim=1, keepdim=True).values).double().mean().item()
    chance = Addition().chance(length)
    assert chance.token == pytest.approx(token, abs=Addition.chance_error)
    assert chance.exact <= 1 / 10 ** (length - 2)


@pytest.mark.parametrize("base", [1, 0, -3, 101, 2.5, "ten"])
def test_a_base_that_cannot_be(base):
    with pytest.raises(ConfigError, match=rf"task\.base={base}: .*from 2 to 100"):
        Addition(base=base)


def test_an_order_that_is_none():
    with pytest.raises(ConfigError, match=r"task\.order=backwards: .*reversed, answer_reversed"):
        Addition(order="backwards")
