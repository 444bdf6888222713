"""The sources of positions one by one: what they draw, and what they refuse."""

import pytest
import torch

import posenc.positions.random
from posenc.errors import ConfigError
from posenc.positions.base import Slots
from posenc.positions.index import Index
from posenc.positions.random import Random
from posenc.positions.shifted import Shifted
from posenc.positions.shuffled import Shuffled

ROWS = 2000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def in_order(ids: torch.Tensor) -> bool:
    return bool((ids.diff(dim=-1) > 0).all())


def test_index_counts_from_zero():
    for use in (Index().train, Index().evaluate):
        ids = use(Slots(4, 5), generator())
        assert ids.tolist() == [[0, 1, 2, 3, 4]]
    assert Index().bound(Slots(1, 5)) == 5


def test_random_draws_once_for_a_training_batch_and_anew_for_the_next():
    first, second = (Random().train(Slots(64, 20), generator(seed)) for seed in (0, 1))
    assert first.shape == (1, 20)
    assert in_order(first)
    assert not torch.equal(first, second)


def test_random_draws_for_every_row_of_an_evaluation():
    ids = Random().evaluate(Slots(64, 20), generator())
    assert ids.shape == (64, 20)
    assert in_order(ids)
    assert len(ids.unique(dim=0)) == 64


@pytest.mark.parametrize("mode", ["train", "evaluate"])
def test_random_uses_every_id_of_the_span_equally_often(mode):
    span, length = 10, 4
    source = Random(span=span)
    if mode == "train":
        ids = torch.cat([source.train(Slots(1, length), generator(seed)) for seed in range(ROWS)])
    else:
        ids = source.evaluate(Slots(ROWS, length), generator())
    share = ids.flatten().bincount(minlength=span) / ROWS
    spread = (length / span * (1 - length / span) / ROWS) ** 0.5
    assert (share - length / span).abs().max() < 4 * spread


def test_random_fills_the_span_exactly_and_refuses_more():
    source = Random(span=7)
    assert source.train(Slots(1, 7), generator()).tolist() == [list(range(7))]
    assert source.bound(Slots(1, 7)) == 7
    for refuse in (source.bound, lambda slots: source.train(slots, generator())):
        with pytest.raises(ConfigError, match=r"positions\.span=7 .* 8 tokens"):
            refuse(Slots(1, 8))


@pytest.mark.parametrize(("rows", "span", "length"), [(2048, 2048, 26), (999, 7, 3), (300, 33, 1)])
def test_random_draws_the_same_in_parts_as_at_once(rows, span, length, monkeypatch):
    at_once = torch.multinomial(torch.ones(rows, span), length, generator=generator())
    sizes, multinomial = [], torch.multinomial

    def recorded(weights, *arguments, **settings):
        sizes.append(weights.numel())
        return multinomial(weights, *arguments, **settings)

    monkeypatch.setattr(torch, "multinomial", recorded)
    for rows_at_once in (1, 10, rows):
        monkeypatch.setattr(posenc.positions.random, "DRAWN_AT_ONCE", rows_at_once * span)
        sizes.clear()
        drawn = Random(span=span).evaluate(Slots(rows, length), generator())
        assert torch.equal(drawn, at_once.sort().values)
        assert max(sizes) == rows_at_once * span


def test_random_evenly_is_the_mean_of_many_draws():
    drawn = Random(span=100).evaluate(Slots(ROWS, 9), generator()).double().mean(dim=0)
    even = Random(span=100, at_eval="even").evaluate(Slots(ROWS, 9), generator())
    assert even.shape == (1, 9)
    assert (even[0] - drawn).abs().max() < 2


@pytest.mark.parametrize(("span", "length"), [(2048, 1), (2048, 20), (7, 7), (8, 7), (100, 99)])
def test_random_evenly_never_repeats_an_id(span, length):
    source = Random(span=span, at_eval="even")
    ids = source.evaluate(Slots(3, length), generator())
    assert in_order(ids)
    assert 0 <= ids.min() <= ids.max() < source.bound(Slots(1, length))
    assert ids.diff().unique().numel() <= 2


def test_random_can_count_from_zero_at_evaluation():
    source = Random(span=3, at_eval="index")
    assert source.evaluate(Slots(3, 4), generator()).tolist() == [[0, 1, 2, 3]]
    assert source.bound_at_eval(Slots(1, 4)) == 4


def test_random_averages_draws_only_where_they_differ():
    assert Random(draws=5).draws == 5
    for at_eval in ("even", "index"):
        assert Random(at_eval=at_eval).draws == 1
        with pytest.raises(ConfigError, match=rf"positions\.draws=5.*at_eval={at_eval}"):
            Random(at_eval=at_eval, draws=5)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"span": 0}, r"positions\.span=0"),
        ({"draws": 0}, r"positions\.draws=0"),
        ({"at_eval": "middle"}, r"positions\.at_eval=middle: .*resample, even, index"),
    ],
)
def test_random_refuses_by_name(settings, named):
    with pytest.raises(ConfigError, match=named):
        Random(**settings)


def test_shifted_moves_every_row_by_an_offset_of_its_own():
    ids = Shifted(max_offset=3).train(Slots(ROWS, 5), generator())
    assert (ids.diff(dim=-1) == 1).all()
    share = ids[:, 0].bincount() / ROWS
    assert len(share) == 4
    assert (share - 0.25).abs().max() < 4 * (0.25 * 0.75 / ROWS) ** 0.5
    assert ids.max() == Shifted(max_offset=3).bound(Slots(1, 5)) - 1
    assert Shifted(max_offset=3, at_eval="resample").bound_at_eval(Slots(1, 5)) == 8
    assert Shifted(max_offset=3).bound_at_eval(Slots(1, 5)) == 5


def test_shifted_evaluates_unshifted_unless_told_otherwise():
    assert Shifted().evaluate(Slots(3, 4), generator()).tolist() == [[0, 1, 2, 3]]
    resampled = Shifted(at_eval="resample").evaluate(Slots(50, 4), generator())
    assert len(resampled.unique(dim=0)) > 40


def test_shifted_by_nothing_is_the_index():
    assert (Shifted(max_offset=0).train(Slots(3, 4), generator()) == torch.arange(4)).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_offset": -1}, r"positions\.max_offset=-1"),
        ({"at_eval": "even"}, r"positions\.at_eval=even: .*index, resample"),
    ],
)
def test_shifted_refuses_by_name(settings, named):
    with pytest.raises(ConfigError, match=named):
        Shifted(**settings)


@pytest.mark.parametrize("mode", ["train", "evaluate"])
def test_shuffled_puts_every_id_anywhere_equally_often(mode):
    length = 5
    ids = getattr(Shuffled(), mode)(Slots(ROWS, length), generator())
    assert (ids.sort(dim=-1).values == torch.arange(length)).all()
    spread = (0.2 * 0.8 / ROWS) ** 0.5
    for place in range(length):
        share = ids[:, place].bincount(minlength=length) / ROWS
        assert (share - 1 / length).abs().max() < 4 * spread
