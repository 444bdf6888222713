"""What is compared with what, and which runs are averaged."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posenc.results.panels import Panel, panels
from posenc.results.reading import Found, read
from posenc.results.variants import differences, told_apart

GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 30: 0.4}
BETTER = {5: 1.0, 20: 1.0, 25: 1.0, 30: 0.8}
UNFITTED = {5: 0.5, 20: 0.5, 25: 0.5, 30: 0.5}

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
Study = Callable[..., Panel]
WriteRun = Callable[..., Path]


def labels(panel: Panel) -> list[str]:
    return [contender.label for contender in panel.contenders]


def test_a_contender_is_the_mean_of_its_fitted_seeds(planted: Planted, found: Read) -> None:
    rows = [*planted(GOOD, seed=1), *planted(UNFITTED, seed=2), *planted(BETTER, seed=0)]
    [panel] = panels(found(rows))
    [own] = panel.contenders
    # 21..25 fall linearly to .9, 26..30 on to .4; and 1.0 up to 25, then down to .8.
    worse = (sum(1 - 0.02 * k for k in range(1, 6)) + sum(0.9 - 0.1 * k for k in range(1, 6))) / 10
    better = (5 + sum(1 - 0.04 * k for k in range(1, 6))) / 10
    assert [run.seed for run in own.runs] == [0, 1, 2]
    assert [run.score for run in own.runs] == pytest.approx([better, worse, 0.5])
    assert [run.fitted for run in own.runs] == [True, True, False]
    assert own.score == pytest.approx((worse + better) / 2)
    assert panel.chance_score == pytest.approx(0.5)


def test_a_run_keeps_its_curves_and_what_sums_them_up(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted(GOOD, token_accuracy=0.75, n=64)))
    [[run]] = [contender.runs for contender in panel.contenders]
    assert run.curves["exact"] == list(GOOD.values())
    assert run.curves["bits"] == pytest.approx(
        [(1 - value) / math.log(2) for value in GOOD.values()]
    )
    assert (run.trained_mean, run.token_score, run.holds_to) == (1.0, 0.75, 25)
    assert (run.problems, run.fingerprint, run.evaluation) == (64, "f0", "e0")
    assert (panel.lengths, panel.in_range) == ([*GOOD], [True, True, False, False])


def test_problems_are_those_of_the_length_that_has_the_fewest(
    planted: Planted, found: Read
) -> None:
    rows = planted({20: 1.0, 25: 1.0}) + planted({30: 1.0}, n=16)
    [panel] = panels(found(rows))
    assert panel.contenders[0].runs[0].problems == 16


def test_without_a_longer_length_there_is_no_score(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted({5: 1.0, 20: 1.0})))
    assert (panel.contenders[0].score, panel.chance_score) == (None, None)
    assert panel.contenders[0].runs[0].holds_to == 20


def test_without_a_trained_length_nothing_vouches_for_a_run(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted({25: 1.0, 30: 1.0})))
    assert panel.contenders[0].fitted == []
    assert panel.contenders[0].score is None


@pytest.mark.parametrize(
    ("held", "expected"), [([25], 25), ([20, 30], 20), ([0, 30, 30], 30), ([0, 0, 30], 0)]
)
def test_holds_to_is_the_lower_median_over_fitted_runs(
    planted: Planted, found: Read, held: list[int], expected: int
) -> None:
    # Those that hold to 0 are fitted all the same: their trained mean is above 0.9.
    lengths = (5, 20, 25, 30)
    curves = [
        {length: 1.0 if length <= end else 0.85 if length == 5 else 0.0 for length in lengths}
        | ({20: 1.0} if end == 0 else {})
        for end in held
    ]
    rows = [row for seed, curve in enumerate(curves) for row in planted(curve, seed=seed)]
    [panel] = panels(found(rows + planted(UNFITTED, seed=9)))
    assert panel.contenders[0].holds_to == expected


def test_nothing_fitted_holds_to_nothing(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted(UNFITTED)))
    assert panel.contenders[0].holds_to is None


def test_best_first_ties_by_name_and_those_without_a_score_last(study: Study) -> None:
    scores = {"t5": [0.5], "none": [0.9], "rope": [0.8, 0.4], "alibi": [0.6], "fire": [0.6]}
    panel = study(scores, unfitted={"none": [0]})
    assert labels(panel) == ["alibi", "fire", "rope", "t5", "none"]


def test_a_panel_for_every_task_model_and_trained_length(planted: Planted, found: Read) -> None:
    rows = [
        *planted(GOOD),
        *planted(GOOD, task="copy"),
        *planted(GOOD, model="decoder"),
        *planted(GOOD, train_max=5, seed=1),
    ]
    told = [(panel.title, panel.tested) for panel in panels(found(rows))]
    lengths = "tested at 4 lengths up to 30"
    assert told == [
        ("copy, encoder", f"trained to length 20, {lengths}"),
        ("who_bit_whom, encoder", f"trained to length 5, {lengths}"),
        ("who_bit_whom, encoder", f"trained to length 20, {lengths}"),
        ("who_bit_whom, decoder", f"trained to length 20, {lengths}"),
    ]


@pytest.mark.parametrize("column", ["chance", "token_chance"])
def test_runs_with_other_chances_are_not_compared(
    planted: Planted, found: Read, column: str
) -> None:
    rows = planted(GOOD) + planted(GOOD, encoding="t5", **{column: 0.25})
    assert len(panels(found(rows))) == 2


def test_runs_tested_at_other_lengths_are_never_compared_or_averaged(
    planted: Planted, found: Read
) -> None:
    rows = [*planted({20: 1.0, 25: 1.0}), *planted({20: 1.0, 25: 1.0, 30: 0.0}, seed=1)]
    several = panels(found(rows))
    assert [panel.lengths for panel in several] == [[20, 25], [20, 25, 30]]
    assert [panel.contenders[0].score for panel in several] == pytest.approx([1.0, 0.7])


def test_tasks_with_other_settings_are_panels_of_their_own_that_say_so(
    planted: Planted, found: Read
) -> None:
    rows = [
        *planted(GOOD, fingerprint="a"),
        *planted(GOOD, fingerprint="b"),
        *planted(GOOD, fingerprint="b", encoding="t5"),
        *planted(GOOD, fingerprint="a", task="copy"),
    ]
    variants = {"a": {"task.symbols": 10, "x": 1}, "b": {"task.symbols": 26, "x": 2}}
    several = panels(found(rows, variants))
    assert [(panel.title, len(panel.contenders)) for panel in several] == [
        ("copy, encoder", 1),
        ("who_bit_whom [task.symbols=10], encoder", 1),
        ("who_bit_whom [task.symbols=26], encoder", 2),
    ]


def test_a_single_length_is_no_stretch(planted: Planted, found: Read) -> None:
    [panel] = panels(found(planted({25: 1.0})))
    assert panel.tested == "trained to length 20, tested at 25"


def test_configurations_of_one_name_are_never_averaged(planted: Planted, found: Read) -> None:
    rows = planted(GOOD, seed=0, fingerprint="a") + planted(BETTER, seed=1, fingerprint="b")
    base = "encoding.base"
    [panel] = panels(found(rows, {"a": {base: 5.0}, "b": {base: 6.0}, "c": {base: 7.0}}))
    assert labels(panel) == ["rope [encoding.base=6.0]", "rope [encoding.base=5.0]"]
    assert [len(contender.runs) for contender in panel.contenders] == [1, 1]
    [panel] = panels(found(rows, {"a": {base: 5.0}}))
    assert labels(panel) == ["rope [b]", "rope [a]"]


def test_neither_are_evaluations_of_one_run_that_gave_it_other_positions(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    random = {"positions": "random", "positions_at_eval": "resample"}
    for seed in range(2):
        write_run(planted(GOOD, seed=seed, **random), asked={"positions.at_eval": "resample"})
        even = random | {"positions_at_eval": "even"}
        write_run(planted(BETTER, seed=seed, **even), asked={"positions.at_eval": "even"})
    write_run(planted({20: 1.0, 99: 0.1}, **random), asked={"length.test": 99})
    write_run(planted(GOOD, encoding="t5"), asked={"eval.samples": 100})
    near, far = sorted(panels(read([tmp_path])), key=lambda panel: panel.lengths[-1])
    assert labels(near) == [
        "rope + random [positions.at_eval=even]",
        "rope + random [positions.at_eval=resample]",
        "t5",
    ]
    assert [len(contender.runs) for contender in near.contenders] == [2, 2, 1]
    assert [len(contender.runs) for contender in far.contenders] == [1]
    assert labels(far) == ["rope + random"]


def test_what_a_later_evaluation_tries_out_is_told(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD, encoding="yarn"), asked={"eval.samples": 100})
    tried = {"eval.samples": 100, "encoding.factor_at_eval": 4.0}
    write_run(planted(BETTER, encoding="yarn"), asked=tried)
    [panel] = panels(read([tmp_path]))
    assert labels(panel) == [
        "yarn [encoding.factor_at_eval=4.0]",
        "yarn [encoding.factor_at_eval=null]",
    ]


def test_no_two_contenders_have_one_label(planted: Planted, found: Read) -> None:
    # Of encodings in a list, names alone are told, and so two of these look alike.
    parts = [[{"name": "abacus"}, {"name": "rope", "base": base}] for base in (1, 2)]
    variants = {
        "a": {"encoding.parts": parts[0], "trainer.max_steps": 5},
        "b": {"encoding.parts": parts[1], "trainer.max_steps": 5},
        "c": {"encoding.parts": parts[1], "trainer.max_steps": 9},
    }
    rows = [row for own in variants for row in planted(GOOD, fingerprint=own)]
    [panel] = panels(found(rows, variants))
    assert labels(panel) == [
        "rope [trainer.max_steps=5, a]",
        "rope [trainer.max_steps=5, b]",
        "rope [trainer.max_steps=9]",
    ]
    assert [panel.named(label) for label in labels(panel)] == panel.contenders
    assert panel.named("rope") is None


def test_costs_are_medians_within_one_machine(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    for seed, seconds in enumerate((2.0, 9.0, 4.0)):
        write_run(planted(GOOD, seed=seed), train_seconds=seconds, trained_steps=100)
    write_run(planted(GOOD, seed=3), train_seconds=1.0, trained_steps=100, threads=2)
    write_run(planted(GOOD, seed=4), train_seconds=None, parameters=None)
    [panel] = panels(read([tmp_path]))
    [own] = panel.contenders
    assert own.parameters == 1234
    assert own.step_seconds() == {
        (100, "here, 1 threads"): 0.04,
        (100, "here, 2 threads"): 0.01,
    }


def test_costs_of_kept_rows_are_unknown(study: Study) -> None:
    [own] = study({"rope": [0.5, 0.6]}).contenders
    assert (own.parameters, own.step_seconds()) == (None, {})


def test_tokens_and_the_mask_are_spoken_of_where_they_matter(planted: Planted, found: Read) -> None:
    def only(**columns: Any) -> Panel:
        [panel] = panels(found(planted(GOOD, **columns)))
        return panel

    assert not only().many_tokens
    assert only(token_accuracy=0.75).many_tokens
    assert not only(encoding="none").mask_tells
    assert not only(model="decoder").mask_tells
    assert only(model="decoder", encoding="none").mask_tells


VARIANTS = {
    "a": {"encoding.base": 5.0, "encoding.log": None, "model.causal": True, "steps": 9},
    "b": {"encoding.base": 6.0, "encoding.log": None, "model.causal": True, "steps": 9},
    "c": {"encoding.base": 5.0, "encoding.log": None, "model.causal": False, "tall": "yes"},
}


def test_only_what_differs_is_named_as_on_a_command_line() -> None:
    assert differences(VARIANTS, "ab") == {"encoding.base": {"a": "5.0", "b": "6.0"}}
    assert differences(VARIANTS, "ac") == {
        "model.causal": {"a": "true", "c": "false"},
        "steps": {"a": "9", "c": "null"},
        "tall": {"a": "null", "c": "yes"},
    }
    assert differences(VARIANTS, "aa") == {}


def test_a_hash_without_settings_has_no_words() -> None:
    assert differences(VARIANTS, ["a", "b", "?"]).keys() == {"encoding.base"}
    assert told_apart(VARIANTS, "ab?") == {
        "a": "encoding.base=5.0",
        "b": "encoding.base=6.0",
        "?": "?",
    }
    assert told_apart(VARIANTS, "a?") == {"a": "a", "?": "?"}


def test_one_alone_needs_no_words() -> None:
    assert told_apart(VARIANTS, "aa") == {"a": ""}
    assert told_apart(VARIANTS, "?") == {"?": ""}


def test_of_encodings_in_a_list_names_and_positions_are_told() -> None:
    coupled = [{"name": "abacus", "positions": {"name": "task", "span": 9}}, {"name": "rope"}]
    variants = {"a": {"parts": coupled}, "b": {"parts": coupled[1:]}}
    assert told_apart(variants, "ab") == {"a": "parts=[abacus on task,rope]", "b": "parts=[rope]"}
