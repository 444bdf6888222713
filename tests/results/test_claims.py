"""Claims: how they are read, and what the rows decide."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posenc.errors import ConfigError
from posenc.results.claims import Judged, claims_section, judge
from posenc.results.comparing import ALL, GATED
from posenc.results.expected import Claim, read_claims
from posenc.results.panels import Panel
from posenc.results.statements import Statement

Study = Callable[..., Panel]
GOOD = "says: x, holds: score(rope) > 0, task: copy, model: encoder"


def claim(text: str, **fields: Any) -> Claim:
    return Claim(**{"says": "", "statement": Statement(text), "task": "task000", "model": "encoder",
                    "view": GATED} | fields)  # fmt: skip


def judged(text: str, panels: Sequence[Panel], **fields: Any) -> Judged:
    return judge(claim(text, **fields), panels)


@pytest.mark.parametrize(
    ("scores", "verdict", "p"),
    [
        ([0.9, 0.8, 0.7, 0.9, 0.6], "reproduced", 1 / 32),
        ([0.4, 0.3, 0.2, 0.1, 0.0], "not reproduced", 1.0),
        ([0.9, 0.8, 0.7, 0.9, 0.45], "undecided", 2 / 32),
        ([0.9, 0.8, 0.7, 0.9], "undecided", 1 / 16),
        ([0.5, 0.5, 0.5, 0.5, 0.5], "undecided", 1.0),
        ([0.9, 0.8, 0.7, 0.9, 0.6, 0.7, 0.495], "reproduced", 2 / 128),
    ],
)
def test_a_verdict_by_hand(study: Study, scores: list[float], verdict: str, p: float) -> None:
    told = judged("score(rope) > 0.5", [study({"rope": scores})])
    assert told.verdict == verdict
    assert told.p == pytest.approx(p)
    assert told.margins == pytest.approx([score - 0.5 for score in scores])


def test_seeds_are_paired(study: Study) -> None:
    panel = study({"rope": [0.2, 0.4, 0.6, 0.8, 1.0], "t5": [0.1, 0.3, 0.5, 0.7, 0.9]})
    told = judged("score(rope) > score(t5)", [panel])
    assert told.verdict == "reproduced"
    assert told.margins == pytest.approx([0.1] * 5)


def test_a_seed_that_is_not_fitted_decides_nothing(study: Study) -> None:
    scores = {"rope": [0.9] * 6, "t5": [0.1] * 6}
    enough = study(scores, {"t5": [2]})
    assert judged("score(rope) > score(t5)", [enough]).verdict == "reproduced"
    assert len(judged("score(rope) > score(t5)", [enough]).margins) == 5
    few = judged("score(rope) > score(t5)", [study(scores, {"t5": [2], "rope": [0]})])
    assert (few.verdict, few.reason) == ("undecided", "4 of the 5 seeds it takes")
    none = judged("score(rope) > score(t5)", [study(scores, {"t5": range(6)})])
    assert (none.verdict, none.reason) == ("undecided", "t5 is not fitted at any seed")


def test_every_length_has_to_agree(study: Study) -> None:
    panel = study({"rope": [0.9, 0.8, 0.7, 0.9, 0.6]})  # and 1.0 at the trained length
    assert judged("exact(rope, each) > 0.5", [panel]).verdict == "reproduced"
    told = judged("exact(rope, each) > 0.95", [panel])
    assert told.margins == pytest.approx([-0.05, -0.15, -0.25, -0.05, -0.35])
    assert told.verdict == "undecided"  # the contrary, at one of two lengths, is only at 2/32
    assert told.reason == "5 seeds agree against it, too few for 2 lengths"
    seven = study({"rope": [0.9, 0.8, 0.7, 0.9, 0.6, 0.5, 0.4]})
    assert judged("exact(rope, each) > 0.95", [seven]).verdict == "not reproduced"
    told = judged("exact(rope, each) > 0.85", [panel])
    assert (told.verdict, told.reason) == ("undecided", "too few seeds agree")


@pytest.mark.parametrize(
    ("text", "fields", "reason"),
    [
        ("score(t5) > 0", {}, "no run of t5; there are rope"),
        ("score(rope) > 0", {"task": "copy"}, "no run of copy in the encoder"),
        ("score(rope) > 0", {"model": "decoder"}, "no run of task000 in the decoder"),
        ("exact(rope, 22) > 0", {}, "length 22 was not tested"),
    ],
)
def test_what_is_missing_is_said(
    study: Study, text: str, fields: dict[str, Any], reason: str
) -> None:
    told = judged(text, [study({"rope": [0.9] * 5})], **fields)
    assert (told.verdict, told.margins, told.p) == ("undecided", [], None)
    assert told.reason.startswith(reason)


def test_a_claim_is_about_its_own_task(studies: Callable[..., list[Panel]]) -> None:
    several = studies([{"rope": [0.9] * 5}, {"rope": [0.1] * 5}])
    verdicts = [judged("score(rope) > 0.5", several, task=f"task00{k}").verdict for k in range(2)]
    assert verdicts == ["reproduced", "not reproduced"]


def test_a_few_runs_that_were_asked_more_do_not_undo_a_claim(study: Study) -> None:
    panels = [study({"rope": [0.9] * 5}), study({"rope": [0.1]})]
    for several in (panels, panels[::-1]):
        assert judged("score(rope) > 0.5", several).verdict == "reproduced"
    others = study({"rope": [0.1] * 6}, fingerprint="other")
    assert judged("score(rope) > 0.5", [panels[0], others]).reason.startswith("2 tables are of")
    longer = replace(study({"rope": [0.1] * 6}), train_max=40)
    assert judged("score(rope) > 0.5", [panels[0], longer]).reason.startswith("2 tables are of")


def test_two_tables_of_one_task_decide_nothing(study: Study) -> None:
    panels = [study({"rope": [0.9] * 5}), study({"rope": [0.9] * 5})]
    told = judged("score(rope) > 0.5", panels)
    assert (told.verdict, told.reason) == ("undecided", "2 tables are of task000 in the encoder")


def test_a_section_counts_and_shows_every_claim(study: Study) -> None:
    panel = study({"rope": [0.9, 0.8, 0.7, 0.9, 0.6]})
    texts = ["score(rope) > 0.5", "score(rope) > 0.95", "score(t5) > 0"]
    section = claims_section([claim(text, says=f"about {text}") for text in texts], [panel])
    assert section.verdict == ["Of 3 statements 1 reproduced, 1 not reproduced, 1 undecided."]
    (table,) = section.tables
    rows = [[cell.text for cell in row] for row in table.rows]
    where = "task000, encoder"
    assert table.notes[0].endswith("0.031 for five.")
    assert rows == [
        ["reproduced", f"about {texts[0]}", texts[0], "+0.280 (+0.100 to +0.400)", "0.031", "5",
         where],
        ["not reproduced", f"about {texts[1]}", texts[1],
         "−0.170 (−0.350 to −0.050)", "1.000", "5", where],
        ["undecided: no run of t5; there are rope", f"about {texts[2]}", texts[2], "–", "–",
         "0", where],
    ]  # fmt: skip
    every = claims_section([claim(texts[0], view=ALL)], [panel]).tables[0]
    assert every.rows[0][-1].text == "task000, encoder, all runs"


def test_a_combination_goes_by_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "expected.yaml"
    text = "- says: x\n  holds: score('{}') > 0\n  task: copy\n  model: encoder\n"
    path.write_text(text.format("learned@abacus+rope + random"))
    assert len(read_claims(path)) == 1
    path.write_text(text.format("learned+ropee"))
    with pytest.raises(ConfigError, match="encoding=ropee"):
        read_claims(path)


def test_lists_are_claims_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "expected.yaml"
    path.write_text(
        "- says: Both.\n  holds: [score(rope) > 0, score(t5) > 0]\n  task: [copy, reverse]\n"
        "  model: encoder\n"
        "- says: One.\n  holds: score(none) < 1\n  task: copy\n  model: decoder\n  runs: all\n"
    )
    found = read_claims(path)
    assert [(each.task, each.statement.text) for each in found] == [
        ("copy", "score(rope) > 0"),
        ("copy", "score(t5) > 0"),
        ("reverse", "score(rope) > 0"),
        ("reverse", "score(t5) > 0"),
        ("copy", "score(none) < 1"),
    ]
    assert [each.model for each in found] == ["encoder"] * 4 + ["decoder"]
    assert [each.view.name for each in found[-2:]] == ["fitted runs", "every run, fitted or not"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    {
        f"- {{{GOOD}}}\n- says: x": "claim 2: takes says, holds, task, model, and may have runs",
        f"- {{{GOOD}, taks: copy}}": "claim 1: takes .*, not says, holds, task, model, taks$",
        f"- {{{GOOD}, runs: some}}": "claim 1: runs=some: choose one of fitted, all",
        f"- {{{GOOD}, runs: [all, fitted]}}": "claim 1: runs=.*: has to be a text$",
        f"- {{{GOOD}}}".replace(
            "copy", "[]"
        ): r"claim 1: task=\[\]: has to be a text or a list of texts",
        f"- {{{GOOD}}}".replace("copy", "{a: b}"): "claim 1: task=",
        f"- {{{GOOD}}}".replace("says: x", "says: [x]"): "claim 1: says=.*: has to be a text$",
        f"- {{{GOOD}}}".replace("encoder", "[a, b]"): "claim 1: model=",
        f"- {{{GOOD}}}".replace("> 0", ">> 0"): r"claim 1: holds=score\(rope\) >> 0: is no single",
        f"- {{{GOOD}}}".replace("score(rope) > 0", "3"): "claim 1: holds=3: is no single",
        f"- {{{GOOD}}}".replace("rope", "ropee"): "encoding=ropee: .*'rope'",
        f"- {{{GOOD}, holds: score(t5) > 0}}": "line 1: holds is there twice; of .* a list$",
        f"- {{{GOOD}}}\n- [": "expected.yaml: line 2: ",
        f"- {{{GOOD}}}".replace("copy", "!!bool maybe"): "claim 1: task=maybe: ",
        f"- {{{GOOD}}}".replace("x", ""): "claim 1: says=: has to be a text$",
        f"- {{{GOOD}}}".replace("> 0", f"> ({'-' * 330}1) * 2"): "maximum recursion depth",
        f"- {{{GOOD}}}".replace("rope", "combined"): "encoding=combined: stands for others",
        f"- {{{GOOD}}}".replace("rope", "tupe_relative"): "encoding=tupe_relative: stands for",
        f"- {{{GOOD}}}".replace("rope", "'rope + rand'"): "positions=rand: ",
        f"- {{{GOOD}}}".replace("rope", "'learned@abacuss+rope'"): "positions=abacuss: ",
        "[" * 3000: "expected.yaml: maximum recursion depth",
        f"- {{{GOOD}}}".replace("encoder", "encodr"): "claim 1: model=encodr: .*encoder",
        f"- {{{GOOD}}}".replace("copy", "copyy"): "claim 1: task=copyy: .*copy",
        "says: x": "has to be a list of claims",
        "- [": "expected.yaml: ",
        "": "has to be a list of claims",
    }.items(),
)
def test_a_file_that_is_wrong_is_named(text: str, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "expected.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=wrong):
        read_claims(path)
