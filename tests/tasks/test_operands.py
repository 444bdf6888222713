"""Pairs of numbers: drawn, listed, and dealt anew."""

from collections import Counter

import pytest
import torch

from posenc.seeding import generator
from posenc.tasks.shared.operands import Operands

SHAPES = {
    "padded": Operands(3, (2, 2), padded=True, falling=False),
    "unpadded": Operands(3, (3, 2), padded=False, falling=False),
    "falling": Operands(3, (2, 2), padded=True, falling=True),
    "of two sizes": Operands(3, (3, 1), padded=True, falling=True),
}


def rows(numbers: torch.Tensor) -> list[tuple[int, ...]]:
    return [tuple(row) for row in numbers.flatten(1).tolist()]


def test_numbers_of_two_sizes_have_zeros_beyond():
    shape = Operands(10, (1, 3), padded=False, falling=False)
    numbers = shape.drawn(50, generator(0, "zeros"))
    assert not numbers[:, 0, 1:].any()
    assert numbers[:, 0, 0].all()
    assert numbers[:, 1, 2].all()
    assert sorted(shape.bags(numbers)[0].tolist()) == sorted(
        [numbers[0, 0, 0].item(), *numbers[0, 1].tolist()]
    )


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_drawn_as_often_as_listed(shape):
    listed = Counter(rows(shape.every()))
    drawn = Counter(rows(shape.drawn(400 * listed.total(), generator(0, "drawn"))))
    assert set(drawn) == set(listed)
    assert all(
        abs(drawn[row] - 400 * listed[row]) < 5 * (400 * listed[row]) ** 0.5 for row in drawn
    )


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_dealt_as_often_as_drawn_among_numbers_of_one_bag(shape):
    """Also where few digits can lead: they must not tell where the others go."""
    every = shape.every()
    bags = shape.bags(every).sort(dim=1).values
    for bag in bags.unique(dim=0)[::3]:
        alike = Counter(rows(every[(bags == bag).all(dim=1)]))
        each = 400
        dealt = Counter(
            rows(shape.dealt(bag.expand(each * alike.total(), -1), generator(0, "dealt", *bag)))
        )
        assert set(dealt) == set(alike)
        assert all(
            abs(dealt[row] - each * alike[row]) < 5 * (each * alike[row]) ** 0.5 for row in dealt
        )
