"""Streams of random numbers: addressed, independent, and never global."""

from itertools import product

import pytest
import torch

from posenc.seeding import generator, initialisation, stream_seed


def test_a_stream_is_a_pure_function_of_its_address():
    first = torch.rand(5, generator=generator(3, "training", 7))
    torch.rand(11)
    generator(3, "training", 8)
    assert torch.equal(torch.rand(5, generator=generator(3, "training", 7)), first)


def test_addresses_do_not_collide():
    streams = ("training", "positions", "dropout", "evaluation", "evaluation positions")
    index = [(), (0,), (1,), (11,), (1, 1), (11, 1), (1, 11)]
    numbers = [stream_seed(s, n, *i) for s, n, i in product((0, 1, 11, 111), streams, index)]
    assert len(set(numbers)) == len(numbers)


def test_numbers_suit_a_torch_generator():
    for seed in range(200):
        assert 0 <= stream_seed(seed, "training") < 2**63


def test_published_results_depend_on_these_numbers():
    """A change here changes every batch and weight: no result could be made again."""
    assert stream_seed(0, "training", 0) == 5118025409139821123
    assert torch.randint(1000, (4,), generator=generator(0, "training", 0)).tolist() == [
        133,
        857,
        56,
        710,
    ]


def test_initialisation_draws_from_its_stream_alone():
    torch.manual_seed(1)
    with initialisation(5, "trunk"):
        first = torch.nn.Linear(4, 4).weight
    torch.manual_seed(2)
    with initialisation(5, "trunk"):
        second = torch.nn.Linear(4, 4).weight
    with initialisation(5, "encoding"):
        other = torch.nn.Linear(4, 4).weight
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_initialisation_leaves_the_global_stream_alone():
    before = torch.get_rng_state()
    with initialisation(5, "trunk"):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(KeyError), initialisation(5, "trunk"):
        raise KeyError
    assert torch.equal(torch.get_rng_state(), before)
