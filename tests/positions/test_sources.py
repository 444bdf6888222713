"""The sources of positions one by one: what they draw, and what they refuse."""

import pytest
import torch

import posenc.positions.random
from posenc.errors import ConfigError
from posenc.positions.abacus import Abacus
from posenc.positions.base import Slots
from posenc.positions.index import Index
from posenc.positions.interpolated import Interpolated
from posenc.positions.random import Random
from posenc.positions.random_float import RandomFloat
from posenc.positions.several import Several
from posenc.positions.shifted import Shifted
from posenc.positions.shuffled import Shuffled
from posenc.positions.task import Coupled

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


@pytest.mark.parametrize(("length", "different"), [(1, 30), (20, 64), (60, 1)])
def test_random_can_draw_for_every_row_of_a_training_batch(length, different):
    source = Random(span=60, per_sample=True)
    ids = source.train(Slots(64, length), generator())
    assert ids.shape == (64, length)
    assert in_order(ids)
    assert len(ids.unique(dim=0)) >= different
    evaluated = source.evaluate(Slots(64, length), generator())
    assert torch.equal(evaluated, Random(span=60).evaluate(Slots(64, length), generator()))


@pytest.mark.parametrize("use", ["train", "evaluate"])
def test_random_float_draws_sorted_numbers_for_every_row(use):
    source = RandomFloat(span=50.0)
    ids = getattr(source, use)(Slots(ROWS, 9), generator())
    assert (ids.dtype, ids.shape) == (torch.float64, (ROWS, 9))
    assert in_order(ids)
    assert 0 <= ids.min() < 0.1
    assert 49.9 < ids.max() < 50
    assert len(ids.unique(dim=0)) == ROWS
    # Unsorted they are uniform: a tenth of them in each tenth of the span.
    share = (ids / 5).long().flatten().bincount(minlength=10) / ids.numel()
    assert (share - 0.1).abs().max() < 4 * (0.1 * 0.9 / ids.numel()) ** 0.5


@pytest.mark.parametrize("span", [0.5, 7.3, 2048.0])
def test_random_float_evenly_is_the_mean_of_many_draws(span):
    drawn = RandomFloat(span=span).evaluate(Slots(ROWS, 9), generator())
    even = RandomFloat(span=span, at_eval="even").evaluate(Slots(ROWS, 9), generator())
    assert (even.dtype, even.shape) == (torch.float64, (1, 9))
    spread = drawn.std(dim=0) / ROWS**0.5
    assert ((even[0] - drawn.mean(dim=0)).abs() < 4 * spread).all()
    assert even.max() < RandomFloat(span=span).bound(Slots(1, 9))


def test_random_float_can_count_from_zero_at_evaluation():
    ids = RandomFloat(span=3.0, at_eval="index").evaluate(Slots(3, 5), generator())
    assert ids.dtype == torch.float64
    assert ids.tolist() == [[0, 1, 2, 3, 4]]


def test_interpolated_counts_in_training_and_never_reaches_the_trained_length_after_it():
    source = Interpolated(trained_length=6)
    for length in (1, 5, 6):
        counted = torch.arange(length, dtype=torch.float64)[None]
        assert torch.equal(source.train(Slots(4, length), generator()), counted)
        assert torch.equal(source.evaluate(Slots(4, length), generator()), counted)
        assert source.bound_at_eval(Slots(1, length)) == length
    for length in (7, 12, 1000):
        ids = source.evaluate(Slots(4, length), generator())
        assert ids.shape == (1, length)
        assert 6 * (1 - 2 / length) < ids.max() < 6
        assert ids.diff().sub(6 / length).abs().max() < 1e-12
        assert source.bound_at_eval(Slots(1, length)) == 6
    assert source.evaluate(Slots(1, 12), generator()).tolist() == [[i / 2 for i in range(12)]]


@pytest.mark.parametrize("model", ["encoder", "decoder"])
def test_interpolated_takes_the_trained_length_of_the_run_in_tokens(model, built):
    """Prompt and answer of length 7 of a task that reverses them are 14 tokens."""
    run = ("task=reverse", "length.train=7", f"model={model}", "encoding=rope")
    assert built(*run, "positions=interpolated").positions.trained_length == 14
    chosen = built(*run, "positions=interpolated", "positions.trained_length=9")
    assert chosen.positions.trained_length == 9


PLACES = torch.tensor([[3, 2, 1, 0, 2, 1, 0, 0]])


def slots_of(kind):
    """Two rows whose tokens have these places, or these coordinates in the second column."""
    if kind is Abacus:
        return Slots(2, 8, places=PLACES)
    return Slots(2, 8, coordinates=torch.stack([PLACES.flip(1), PLACES], dim=-1))


def test_places_start_at_one_offset_for_a_batch_and_zero_stays():
    source, slots = Abacus(max_offset=4), slots_of(Abacus)
    assert torch.equal(source.evaluate(slots, generator()), PLACES)
    offsets = []
    for seed in range(200):
        ids = source.train(slots, generator(seed))
        assert ids.dtype == torch.int64
        assert torch.equal(ids == 0, PLACES == 0)
        (offset,) = (ids - PLACES)[PLACES > 0].unique().tolist()
        offsets.append(offset)
    assert {*offsets} == {0, 1, 2, 3, 4}
    assert min(map(offsets.count, range(5))) > 20
    assert source.bound(slots) == 3 + 4 + 1
    assert source.bound_at_eval(slots) == 3 + 1


def test_coupled_ids_start_anywhere_for_every_row_that_leaves_them_in_range():
    """Rows with largest ids 3 and 1, which may move by 0 to 4 and 0 to 6."""
    places = torch.tensor([[3, 2, 1, 0], [0, 1, 1, 0]])
    source = Coupled(coordinate=1, max_position=7)
    slots = Slots(2, 4, coordinates=torch.stack([places.flip(1), places], dim=-1))
    assert torch.equal(source.evaluate(slots, generator()), places)
    offsets = []
    for seed in range(350):
        ids = source.train(slots, generator(seed))
        assert ids.dtype == torch.int64
        assert torch.equal(ids == 0, places == 0)
        moved = [(row - start)[start > 0].unique() for row, start in zip(ids, places, strict=True)]
        offsets.append(tuple(int(each) for each in moved))
    first, second = zip(*offsets, strict=True)
    assert ({*first}, {*second}) == ({*range(5)}, {*range(7)})
    assert min(map(first.count, range(5))) > 40
    assert min(map(second.count, range(7))) > 25
    assert len({*offsets}) > 30  # rows move by themselves
    assert source.bound(slots) == 7 + 1
    assert source.bound_at_eval(slots) == 3 + 1


def test_rows_with_the_same_ids_start_by_themselves():
    ids = Coupled(coordinate=1, max_position=40).train(slots_of(Coupled), generator())
    assert ids.shape == (2, 8)
    assert not torch.equal(*ids)


def test_coupled_ids_that_have_no_room_in_training_are_refused_and_not_afterwards():
    source, slots = Coupled(coordinate=1, max_position=2), slots_of(Coupled)
    with pytest.raises(ConfigError, match=r"^positions\.max_position=2: .*ids up to 3, set"):
        source.bound(slots)
    assert torch.equal(source.evaluate(slots, generator()), PLACES)


@pytest.mark.parametrize("source", [Abacus(), Coupled()])
def test_marks_on_another_device_stay_there(source):
    places = PLACES.to("meta")
    slots = Slots(2, 8, places=places, coordinates=places[..., None])
    assert source.train(slots, generator()).device == places.device


@pytest.mark.parametrize("source", [Abacus(max_offset=0), Coupled(coordinate=1, max_position=3)])
def test_without_room_to_move_training_sees_what_evaluation_does(source):
    slots = slots_of(type(source))
    seen = source.evaluate(slots, generator()).expand(2, 8)
    assert torch.equal(source.train(slots, generator()).expand(2, 8), seen)
    assert source.bound(slots) == source.bound_at_eval(slots) == 4


def test_places_of_every_row_stay_its_own():
    places = torch.tensor([[1, 2, 0], [0, 1, 1]])
    ids = Abacus(max_offset=9).train(Slots(2, 3, places=places), generator())
    assert len((ids - places)[places > 0].unique()) == 1
    assert torch.equal(ids > 0, places > 0)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Abacus(), r"^positions=abacus: the task has no numbers"),
        (Coupled(), r"^positions=task: the task couples no tokens"),
        (Coupled(coordinate=2), r"^positions\.coordinate=2: the task gives 2 "),
    ],
)
def test_marks_that_the_task_lacks_are_refused(source, named):
    slots = slots_of(Coupled) if "gives" in named else Slots(2, 8)
    for use in (
        lambda: source.bound(slots),
        lambda: source.bound_at_eval(slots),
        lambda: source.train(slots, generator()),
        lambda: source.evaluate(slots, generator()),
    ):
        with pytest.raises(ConfigError, match=named):
            use()


def test_sources_side_by_side_keep_their_own_ids():
    common, slots = Random(span=99), Slots(3, 8, places=PLACES)
    source = Several([Abacus(), common, common, Random(span=99), Interpolated(trained_length=4)])
    for use in (source.train, source.evaluate):
        ids = use(slots, generator())
        assert ids.shape[1:] == (8, 5)
        assert torch.equal(ids[..., 0] == 0, (PLACES == 0).expand(len(ids), 8))
        assert torch.equal(ids[..., 1], ids[..., 2])  # one source draws once
        assert not torch.equal(ids[..., 1], ids[..., 3])
    assert ids[0, :, 4].tolist() == [i / 2 for i in range(8)]
    assert source.bound(slots) == 3 + 99 + 1
    assert source.bound_at_eval(slots) == 99


def test_sources_side_by_side_are_averaged_as_the_one_that_draws_most():
    assert Several([Index(), Random(draws=3)]).draws == 3


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: RandomFloat(span=0.0), r"positions\.span=0\.0"),
        (lambda: RandomFloat(span=float("nan")), r"positions\.span=nan"),
        (lambda: RandomFloat(span=float("inf")), r"positions\.span=inf"),
        (lambda: RandomFloat(draws=0), r"positions\.draws=0"),
        (lambda: RandomFloat(at_eval="even", draws=2), r"positions\.draws=2.*at_eval=even"),
        (lambda: RandomFloat(at_eval="middle"), r"positions\.at_eval=middle: .*resample, even"),
        (lambda: Interpolated(trained_length=0), r"positions\.trained_length=0"),
        (lambda: Interpolated(trained_length="long"), r"positions\.trained_length=long"),
        (lambda: Interpolated(trained_length=float("inf")), r"positions\.trained_length=inf"),
        (lambda: Interpolated(trained_length=True), r"positions\.trained_length=True"),
        (lambda: Abacus(max_offset=-1), r"positions\.max_offset=-1"),
        (lambda: Coupled(max_position=0), r"positions\.max_position=0"),
        (lambda: Coupled(coordinate=-1), r"positions\.coordinate=-1"),
    ],
)
def test_impossible_settings_are_refused_by_name(make, named):
    with pytest.raises(ConfigError, match=named):
        make()
