"""That a verdict finds what is there, and claims nothing that is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from posenc.results import inference
from posenc.results.comparing import ALL, GATED, LEVEL, MARGIN, Versus, against, differing
from posenc.results.panels import Panel, panels
from posenc.results.reading import Found
from posenc.results.verdict import Judged, judged, verdict

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
Studies = Callable[..., list[Panel]]
Study = Callable[..., Panel]
Scores = dict[str, list[float]]


def drawn(means: dict[str, float], seeds: int, *, spread: float = 0.02, stream: int = 0) -> Scores:
    """Scores around these means, seeds easy or hard for all encodings alike."""
    random = np.random.default_rng(stream)
    level = random.normal(0, spread, seeds)
    noise = {name: random.normal(0, spread, seeds) for name in means}
    return {name: list(np.clip(mean + level + noise[name], 0, 1)) for name, mean in means.items()}


def of(panel: Panel) -> Judged:
    found = judged(panel)
    assert found is not None
    return found


def standings(versus: list[Versus]) -> dict[str, str]:
    return {each.contender.label: each.standing for each in versus}


def beside(panel: Panel, rival: str, **options: Any) -> list[Versus]:
    """All others against one, as a table has it."""
    own = panel.named(rival)
    assert own is not None
    others = [contender for contender in panel.contenders if contender is not own]
    return against(own, others, **{"view": GATED, "differ": True} | options)


def sentence(panel: Panel, start: str, baseline: str | None = None) -> str:
    """The one sentence that starts like this; empty where there is none."""
    said = verdict(panel, panel.named(baseline) if baseline else None)
    [found] = [each for each in said if each.startswith(start)] or [""]
    return found


class TestPlantedEffect:
    """Of three encodings one is better by .3, and two are the same."""

    MEANS = {"alibi": 0.9, "rope": 0.6, "t5": 0.6}  # noqa: RUF012

    @pytest.mark.parametrize("stream", range(5))
    @pytest.mark.parametrize("seeds", [5, 10])
    def test_the_better_one_is_found(self, study: Study, seeds: int, stream: int) -> None:
        found = of(study(drawn(self.MEANS, seeds, stream=stream)))
        assert found.best.label == "alibi"
        assert standings(found.others) == {"rope": "worse", "t5": "worse"}
        assert found.p is not None
        assert found.p <= LEVEL

    @pytest.mark.parametrize("stream", range(5))
    def test_ten_seeds_suffice_for_all_comparisons_together(
        self, study: Study, stream: int
    ) -> None:
        versus = beside(study(drawn(self.MEANS, 10, stream=stream)), "alibi")
        assert all(each.holm is not None and each.holm <= LEVEL for each in versus)
        assert all(each.difference == pytest.approx(-0.3, abs=0.04) for each in versus)
        assert [each.superiority for each in versus] == [0, 0]

    def test_five_seeds_do_not(self, study: Study) -> None:
        versus = beside(study(drawn(self.MEANS, 5)), "alibi")
        assert [(each.p, each.holm) for each in versus] == [(1 / 16, 2 / 16)] * 2

    def test_the_two_that_are_the_same_are_equivalent(self, study: Study) -> None:
        panel = study(drawn(self.MEANS, 10))
        assert standings(beside(panel, "rope")) == {"alibi": "better", "t5": "equivalent"}

    def test_the_words_say_so(self, study: Study) -> None:
        panel = study(
            {
                "alibi": [0.9, 0.92, 0.88, 0.9, 0.9],
                "rope": [0.6, 0.62, 0.58, 0.6, 0.61],
                "t5": [0.6, 0.6, 0.6, 0.6, 0.6],
            }
        )
        assert verdict(panel, panel.named("rope"))[:4] == [
            "alibi has the highest mean score, 0.90 over 5 seeds.",
            "Worse: rope (−0.30, −0.30 to −0.29), t5 (−0.30, −0.32 to −0.28).",
            "That the encodings differ at all: p = 0.0123, from shuffling them within seeds; "
            "5 seeds of a single pair cannot give less than 0.0625.",
            "Against rope, better: alibi (+0.30, +0.29 to +0.30); "
            "equivalent: t5 (+0.00, −0.02 to +0.02).",
        ]


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "anything from 0 to 1": lambda random, k, n: random.uniform(size=(k, n)),
    "solved or not": lambda random, k, n: random.integers(0, 2, (k, n)).astype(float),
    "easy and hard seeds": lambda random, k, n: np.clip(
        random.uniform(size=(1, n)) + random.normal(0, 0.1, (k, n)), 0, 1
    ),
}
STUDIES = 200
MOST = binom.ppf(0.999, STUDIES, LEVEL)
"""False claims that 200 studies with one in 20 exceed once in a thousand times."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seeds", [5, 10])
@pytest.mark.parametrize("encodings", [3, 5, 8])
def test_encodings_that_are_alike_are_not_called_different(
    studies: Studies, monkeypatch: pytest.MonkeyPatch, encodings: int, seeds: int, shape: str
) -> None:
    monkeypatch.setattr(inference, "SHUFFLES", 999)  # ten times as quick, and as exact
    random = np.random.default_rng(0)
    names = [f"e{k}" for k in range(encodings)]
    calls = {"against the best": 0, "against one of them": 0, "Holm": 0}
    scores = [SHAPES[shape](random, encodings, seeds) for _ in range(STUDIES)]
    for panel in studies([dict(zip(names, own, strict=True)) for own in scores]):
        found = of(panel)
        differ = found.p is not None and found.p <= LEVEL
        versus = beside(panel, "e0", differ=differ)
        calls["against the best"] += bool({"better", "worse"} & {*standings(found.others).values()})
        calls["against one of them"] += bool({"better", "worse"} & {*standings(versus).values()})
        calls["Holm"] += any(each.holm is not None and each.holm <= LEVEL for each in versus)
    assert all(count <= MOST for count in calls.values()), calls


@pytest.mark.parametrize("gap", [MARGIN, -MARGIN])
def test_a_difference_as_large_as_the_margin_is_not_called_equivalent(
    studies: Studies, gap: float
) -> None:
    means = {"rope": 0.5, "t5": 0.5 + gap}
    several = studies([drawn(means, 5, stream=stream) for stream in range(STUDIES)])
    called = [beside(panel, "rope")[0].standing for panel in several].count("equivalent")
    assert 0 < called <= MOST


def test_a_pair_with_five_seeds_is_never_called_different(study: Study) -> None:
    panel = study({"rope": [0.1] * 5, "t5": [0.9] * 5})
    assert standings(of(panel).others) == {"rope": "undecided"}
    assert sentence(panel, "That the encodings differ") == (
        "That the encodings differ at all: p = 0.0625, from shuffling them within seeds, so no "
        "difference is shown; 5 seeds of a single pair cannot give less than 0.0625."
    )
    six = study({"rope": [0.1] * 6, "t5": [0.9] * 6})
    assert standings(of(six).others) == {"rope": "worse"}
    assert sentence(six, "That") == (
        "That the encodings differ at all: p = 0.0312, from shuffling them within seeds."
    )


def test_ties_are_equivalent_and_stand_by_name(study: Study) -> None:
    own = [0.2, 0.4, 0.6, 0.8, 1.0]
    panel = study({"t5": own, "rope": own, "alibi": own})
    found = of(panel)
    assert (found.best.label, found.p) == ("alibi", 1.0)
    for versus in found.others:
        assert (versus.difference, versus.interval, versus.p) == (0, (0, 0), 1)
        assert (versus.superiority, versus.standing) == (0.5, "equivalent")
    assert sentence(panel, "Equivalent") == (
        "Equivalent to it, within 0.05 (90 %): rope (+0.00, +0.00 to +0.00), "
        "t5 (+0.00, +0.00 to +0.00)."
    )


def test_one_seed_each_decides_nothing(study: Study) -> None:
    panel = study({"rope": [0.9], "t5": [0.1], "none": [0.5]}, unfitted={"none": [0]})
    assert verdict(panel, panel.named("t5"))[:2] == [
        "One fitted seed each decides nothing; rope scores highest, 0.90.",
        "Beyond the trained lengths not above chance, 0.50, by 0.05: t5.",
    ]
    [versus] = of(panel).others
    assert (versus.seeds, versus.difference) == (1, pytest.approx(-0.8))
    assert (versus.interval, versus.p, versus.holm) == (None, None, None)
    assert versus.standing == "undecided"


def test_few_seeds_decide_nothing_and_say_how_many_would(study: Study) -> None:
    panel = study({"rope": [0.9] * 4, "t5": [0.1] * 4, "fire": [0.1] * 3})
    assert set(standings(of(panel).others).values()) == {"undecided"}
    assert sentence(panel, "Undecided") == "Undecided: fire (−0.80), t5 (−0.80)."
    assert sentence(panel, "To decide") == (
        "To decide more takes 5 seeds that both share; here are 4."
    )
    assert sentence(panel, "Against", baseline="t5") == ""


def test_a_best_with_few_seeds_decides_nothing_though_others_have_many(study: Study) -> None:
    panel = study({"fire": [1.0], "rope": [0.9] * 6, "t5": [0.1] * 6})
    assert of(panel).p == 1 / 32
    assert verdict(panel, None)[:3] == [
        "fire has the highest mean score, 1.00 over 1 seed.",
        "Undecided: rope (−0.10), t5 (−0.90).",
        "To decide more takes 5 seeds that both share; here are 1.",
    ]
    assert sentence(panel, "Against", baseline="rope") == (
        "Against rope, worse: t5 (−0.80, −0.80 to −0.80); undecided: fire (+0.10)."
    )


def test_one_alone_has_nothing_to_be_compared_with(study: Study) -> None:
    panel = study({"rope": [0.9, 0.7]})
    assert (
        verdict(panel, None)[0]
        == "rope scores 0.80 over 2 seeds, with no other to compare it with."
    )


def test_seeds_that_are_not_shared_are_not_paired(study: Study) -> None:
    scores = {"rope": [None, 0.5, 0.5, 0.9, None], "t5": [0.1, 0.6, 0.8, None, 0.0]}
    [versus] = beside(study(scores), "rope")
    assert (versus.seeds, versus.difference) == (2, pytest.approx(0.2))
    # Whether one beats the other is asked of all runs: t5 does so in 4 of 12 pairs.
    assert versus.superiority == pytest.approx(4 / 12)


def test_contenders_without_a_shared_seed_are_not_compared(study: Study) -> None:
    panel = study({"rope": [0.9] * 5 + [None] * 5, "t5": [None] * 5 + [0.1] * 5})
    [versus] = of(panel).others
    assert versus[1:] == (0, None, None, None, None, None, "undecided")
    assert of(panel).p is None
    assert sentence(panel, "Undecided") == "Undecided: t5 (no seed in common)."


def test_an_unfitted_run_counts_in_no_mean_and_no_comparison(study: Study) -> None:
    scores = {"rope": [0.9, 0.9, 0.9, 0.0, 0.9, 0.9], "t5": [0.8] * 6}
    panel = study(scores, unfitted={"rope": [3]})
    [versus] = of(panel).others
    assert (versus.seeds, versus.difference) == (5, pytest.approx(-0.1))
    assert verdict(panel, None)[0] == "rope has the highest mean score, 0.90 over 5 of 6 seeds."
    assert sentence(panel, "Failed to fit") == "Failed to fit: rope in 1 of 6 seeds."
    [everywhere] = beside(panel, "rope", view=ALL)
    assert (everywhere.seeds, everywhere.difference) == (6, pytest.approx(0.05))


def test_what_is_fitted_nowhere_is_named_and_not_judged(study: Study) -> None:
    panel = study({"rope": [0.9] * 5, "none": [1.0] * 5}, unfitted={"none": range(5)})
    assert of(panel).others == []
    assert sentence(panel, "Not fitted") == (
        "Not fitted in any seed, so its longer lengths say nothing: none (no encoding)."
    )
    assert sentence(panel, "Against", baseline="none") == ""


def test_where_nothing_is_fitted_nothing_is_judged(study: Study) -> None:
    panel = study({"rope": [0.9], "none": [1.0]}, unfitted={"rope": [0], "none": [0]})
    assert judged(panel) is None
    assert verdict(panel, panel.named("rope")) == [
        "Not fitted in any seed, so its longer lengths say nothing: none (no encoding), rope."
    ]


def test_without_a_longer_length_nothing_is_judged(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted({5: 1.0, 20: 1.0})))
    assert verdict(panel, None) == [
        "No length beyond the trained ones was tested.",
        "Up to the longest, 20, holds: rope.",
    ]


def test_a_baseline_that_is_the_best_is_not_compared_twice(study: Study) -> None:
    panel = study(drawn({"alibi": 0.9, "rope": 0.6, "t5": 0.6}, 5))
    assert sentence(panel, "Against", baseline="alibi") == ""
    assert sentence(panel, "Against", baseline="rope") != ""


def test_it_says_where_each_breaks_down(planted: Planted, found: Read) -> None:
    def curve(*values: float) -> dict[int, float]:
        return dict(zip((5, 20, 25, 30), values, strict=True))

    rows = [
        *planted(curve(1, 1, 0.95, 0.9), encoding="alibi"),
        *planted(curve(1, 1, 0.9, 0.5), encoding="rope"),
        *planted(curve(1, 1, 0.8, 0.5), encoding="rope", seed=1),
        *planted(curve(1, 0.85, 0.8, 0.9), encoding="t5"),
        *planted(curve(1, 1, 0.95, 0.89), encoding="fire"),
        *planted(curve(1, 1, 0.89, 0.95), encoding="kerple"),
        *planted(curve(0.5, 0.5, 0.5, 0.5), encoding="none"),
    ]
    [panel] = panels(found(rows))
    assert sentence(panel, "Mean exact match") == (
        "Mean exact match first falls below 0.9 at 20: t5; at 25: kerple, rope; at 30: fire."
    )
    assert sentence(panel, "Up to") == "Up to the longest, 30, holds: alibi."


def test_what_is_no_better_than_a_guess_is_named(study: Study) -> None:
    panel = study({"rope": [0.54, 0.55], "t5": [0.58, 0.54], "fire": [0.2, 0.1]})
    assert sentence(panel, "Beyond") == (
        "Beyond the trained lengths not above chance, 0.50, by 0.05: rope, fire."
    )


def test_a_mask_that_tells_order_is_named(study: Study) -> None:
    scores = {"none": [0.9], "rope": [0.8]}
    said = verdict(study(scores, model="decoder"), None)
    assert said[-1] == "none (no encoding) is not blind here: the causal mask itself tells order."
    assert not any("mask" in each for each in verdict(study(scores), None))


class TestDiffering:
    """Whether encodings matter at all, asked before any pair is."""

    def test_those_with_too_few_seeds_stand_apart(self, study: Study) -> None:
        scores = {"rope": [0.9] * 6, "t5": [0.1] * 6}
        own = differing(study(scores), GATED)
        assert own == differing(study(scores | {"fire": [0.5] * 4}), GATED) == 1 / 32

    def test_unfitted_runs_count_where_all_do(self, study: Study) -> None:
        scores = {"rope": [0.9] * 6, "t5": [0.1] * 6}
        panel = study(scores, unfitted={"t5": [0, 1]})
        assert differing(panel, GATED) is None
        assert differing(panel, ALL) == 1 / 32

    def test_it_takes_two_contenders_and_shared_seeds(self, study: Study) -> None:
        assert differing(study({"rope": [0.9] * 6}), GATED) is None
        apart = {"rope": [0.9] * 5 + [None] * 4, "t5": [None] * 4 + [0.1] * 5}
        assert differing(study(apart), GATED) is None
