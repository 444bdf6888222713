import pytest

from posenc.seeding import generator
from posenc.tasks.cycle_navigation import CycleNavigation


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ("+0", "0"),
        ("-1", "4"),
        ("+1 +1", "2"),
        ("+1 +1 +1 +1 +1", "0"),
        ("-1 -1 -1 +0 -1 -1 -1", "4"),
    ],
)
def test_by_hand(steps, place):
    task = CycleNavigation()
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(steps))) == place


def test_a_place_is_no_step():
    with pytest.raises(ValueError, match="2, which is no step"):
        CycleNavigation().solve([2])


def test_published_shares_of_places():
    """From 0, after one step and after five."""
    for length, shares in ((1, [1, 1, 0, 0, 1]), (5, [0.218, 0.206, 0.185, 0.185, 0.206])):
        places = CycleNavigation().sample(20_000, length, generator(0, "cycle", length)).answer
        share = places.flatten().bincount(minlength=5) / len(places)
        expected = [value / sum(shares) for value in shares]
        assert share.tolist() == pytest.approx(expected, abs=4 * (0.25 / 20_000) ** 0.5)


def test_after_many_steps_all_places_are_as_likely():
    assert CycleNavigation().chance(500).exact == pytest.approx(0.2, rel=1e-12)
