"""That a verdict finds what is there, and claims nothing that is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from posenc.results import inference
from posenc.results.comparing import (
    ALL,
    GATED,
    LEVEL,
    MARGIN,
    Omnibus,
    Versus,
    View,
    against,
    differing,
    seeds_to_decide,
)
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


def beside(panel: Panel, rival: str, view: View = GATED) -> list[Versus]:
    """All others against one, as a table has it."""
    own = panel.named(rival)
    assert own is not None
    others = [contender for contender in panel.contenders if contender is not own]
    return against(own, others, view)


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
        panel = study(drawn(self.MEANS, seeds, stream=stream))
        found, whole = of(panel), differing(panel, GATED)
        word = "worse" if seeds == 10 else "below"
        assert found.best.label == "alibi"
        assert standings(found.others) == {"rope": word, "t5": word}
        assert whole is not None
        assert whole.p <= LEVEL

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
        assert [each.standing for each in versus] == ["below"] * 2

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
        assert verdict(panel, panel.named("rope"))[:5] == [
            "alibi has the highest mean score, 0.90 over 5 seeds.",
            "Below it at every seed, too few to call it worse: rope (−0.298, −0.300 to −0.290), "
            "t5 (−0.300, −0.320 to −0.280).",
            "Against rope, equivalent, within 0.05 (90 %): t5 (−0.002, −0.020 to +0.020); "
            "above it at every seed, too few to call it better: alibi (+0.298, +0.290 to +0.300).",
            "That they differ at all is shown: p = 0.012, 3 encodings shuffled within 5 seeds.",
            "Of 5 seeds no pair can be called better or worse; 7 seeds could decide.",
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
    calls = {"against the best": 0, "against one of them": 0, "Holm": 0, "at all": 0}
    scores = [SHAPES[shape](random, encodings, seeds) for _ in range(STUDIES)]
    for panel in studies([dict(zip(names, own, strict=True)) for own in scores]):
        found = of(panel)
        versus = beside(panel, "e0")
        whole = differing(panel, GATED)
        calls["at all"] += whole is not None and whole.p <= LEVEL
        calls["against the best"] += bool({"better", "worse"} & {*standings(found.others).values()})
        calls["against one of them"] += bool({"better", "worse"} & {*standings(versus).values()})
        calls["Holm"] += any(each.holm is not None and each.holm <= LEVEL for each in versus)
    assert all(count <= MOST for count in calls.values()), calls


def test_one_bad_encoding_does_not_open_the_door_to_claims_about_the_others(
    studies: Studies,
) -> None:
    random = np.random.default_rng(0)
    names = [f"e{k}" for k in range(6)]
    called = 0
    scores = [random.uniform(0.5, 1, (6, 10)) for _ in range(STUDIES)]
    for panel in studies(
        [dict(zip(names, own, strict=True)) | {"bad": [0.0] * 10} for own in scores]
    ):
        others = standings(of(panel).others)
        called += bool({"better", "worse"} & {others[name] for name in names if name in others})
    assert called <= MOST


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
    assert standings(of(panel).others) == {"rope": "below"}
    assert sentence(panel, "That they differ") == (
        "That they differ at all is not shown: p = 0.062, 2 encodings shuffled within 5 seeds."
    )
    assert sentence(panel, "Of 5") == (
        "Of 5 seeds no pair can be called better or worse; 6 seeds that agree would decide."
    )
    six = study({"rope": [0.1] * 6, "t5": [0.9] * 6})
    assert standings(of(six).others) == {"rope": "worse"}
    assert sentence(six, "That they differ") == (
        "That they differ at all is shown: p = 0.031, 2 encodings shuffled within 6 seeds."
    )
    assert sentence(six, "Of 6") == ""


@pytest.mark.parametrize(("pairs", "seeds"), [(1, 6), (2, 7), (3, 7), (6, 8), (28, 11)])
def test_as_many_seeds_as_are_named_do_decide(pairs: int, seeds: int) -> None:
    assert seeds_to_decide(pairs) == seeds
    assert pairs * inference.smallest_p(seeds) <= LEVEL < pairs * inference.smallest_p(seeds - 1)


def test_ties_are_equivalent_and_stand_by_name(study: Study) -> None:
    own = [0.2, 0.4, 0.6, 0.8, 1.0]
    panel = study({"t5": own, "rope": own, "alibi": own})
    found = of(panel)
    assert found.best.label == "alibi"
    assert differing(panel, GATED) == Omnibus(1.0, 3, 5)
    for versus in found.others:
        assert (versus.difference, versus.interval, versus.p) == (0, (0, 0), 1)
        assert (versus.superiority, versus.standing) == (0.5, "equivalent")
    assert sentence(panel, "Equivalent") == (
        "Equivalent, within 0.05 (90 %): rope (+0.000, +0.000 to +0.000), "
        "t5 (+0.000, +0.000 to +0.000)."
    )


def test_one_seed_each_decides_nothing(study: Study) -> None:
    panel = study({"rope": [0.9], "t5": [0.1], "none": [0.5]}, unfitted={"none": [0]})
    assert verdict(panel, panel.named("t5"))[:2] == [
        "One seed decides nothing; rope scores highest, 0.90.",
        "Of 1 seed no pair can be called better or worse; 6 seeds that agree would decide.",
    ]
    [versus] = of(panel).others
    assert (versus.seeds, versus.difference) == (1, pytest.approx(-0.8))
    assert (versus.interval, versus.p, versus.holm) == (None, None, None)
    assert versus.standing == "undecided"


def test_few_seeds_decide_nothing_and_say_how_many_would(study: Study) -> None:
    panel = study({"rope": [0.9] * 4, "t5": [0.1] * 4, "fire": [0.1] * 3})
    assert set(standings(of(panel).others).values()) == {"below"}
    assert sentence(panel, "Below") == (
        "Below it at every seed, too few to call it worse: fire (−0.800), t5 (−0.800)."
    )
    assert sentence(panel, "Of 4") == (
        "Of 4 seeds no pair can be called better or worse; 7 seeds could decide."
    )


def test_one_lucky_run_does_not_lead_and_is_named(study: Study) -> None:
    panel = study({"fire": [1.0] + [0.2] * 5, "rope": [0.9] * 6, "t5": [0.1] * 6},
                  unfitted={"fire": range(1, 6)})  # fmt: skip
    assert of(panel).best.label == "rope"
    assert verdict(panel, None)[:4] == [
        "rope leads with a mean score of 0.90 over 6 seeds.",
        "fire scores 1.00, but over 1 fitted of 6 seeds, which fits too seldom to lead.",
        "Below it at every seed, too few to call it worse: t5 (−0.800, −0.800 to −0.800).",
        "Undecided: fire (+0.100).",
    ]


def test_who_beats_the_best_where_both_are_fitted_is_named(study: Study) -> None:
    scores = {"alibi": [0.8] * 6 + [None] * 6, "rope": [0.9] * 6 + [0.3] * 6}
    assert sentence(study(scores), "Better") == "Better: rope (+0.100, +0.100 to +0.100)."


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
    assert differing(panel, GATED) is None
    assert sentence(panel, "Undecided") == "Undecided: t5 (no seed in common)."


def test_an_unfitted_run_counts_in_no_mean_and_no_comparison(study: Study) -> None:
    scores = {"rope": [0.9, 0.9, 0.9, 0.0, 0.9, 0.9], "t5": [0.8] * 6}
    panel = study(scores, unfitted={"rope": [3]})
    [versus] = of(panel).others
    assert (versus.seeds, versus.difference) == (5, pytest.approx(-0.1))
    assert (
        verdict(panel, None)[0] == "rope has the highest mean score, 0.90 over 5 fitted of 6 seeds."
    )
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
        "Exact match holds at 0.9 or more: rope to 20, the longest tested.",
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
    assert sentence(panel, "Exact match") == (
        "Exact match holds at 0.9 or more: alibi to 30, the longest tested; fire to 25; "
        "kerple, rope to 20; t5 to 5."
    )


def test_what_is_no_better_than_a_guess_is_named(study: Study) -> None:
    panel = study({"rope": [0.54, 0.55], "t5": [0.58, 0.54], "fire": [0.2, 0.1]})
    assert sentence(panel, "Beyond") == (
        "Beyond the trained lengths within 0.05 of chance, 0.50, or below it, so that differences "
        "between these say nothing of order: rope, fire."
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
        assert own == differing(study(scores | {"fire": [0.5] * 4}), GATED) == (1 / 32, 2, 6)

    def test_unfitted_runs_count_where_all_do(self, study: Study) -> None:
        scores = {"rope": [0.9] * 6, "t5": [0.1] * 6}
        panel = study(scores, unfitted={"t5": [0, 1]})
        assert differing(panel, GATED) is None
        assert differing(panel, ALL) == (1 / 32, 2, 6)

    def test_one_at_other_seeds_does_not_silence_the_rest(self, study: Study) -> None:
        scores = {"rope": [0.9] * 10 + [None] * 6, "t5": [0.1] * 10 + [None] * 6}
        whole = differing(study(scores | {"fire": [None] * 8 + [0.5] * 8}), GATED)
        assert whole == (2**-9, 2, 10)

    def test_it_takes_two_contenders_and_shared_seeds(self, study: Study) -> None:
        assert differing(study({"rope": [0.9] * 6}), GATED) is None
        apart = {"rope": [0.9] * 5 + [None] * 4, "t5": [None] * 4 + [0.1] * 5}
        assert differing(study(apart), GATED) is None
