import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from posenc.results.terminal import markdown, print_run

CURVE = {5: 1.0, 20: 0.98, 25: 0.9, 40: 0.5}


@pytest.fixture
def shown(planted: Callable[..., Any]) -> Callable[..., str]:
    def show(
        exact: dict[int, float] = CURVE,
        folder: Path = Path("f"),
        seen: dict[int, float] | None = None,
        width: int = 80,
        **columns: Any,
    ) -> str:
        console = Console(file=io.StringIO(), width=width, highlight=False)
        print_run(
            planted(exact, **columns),
            folder=folder,
            outputs=Path("out puts"),
            seen=seen or {},
            console=console,
        )
        return console.file.getvalue()  # type: ignore[attr-defined]

    return show


def cells(text: str, length: int) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [str(length)])


def test_a_row_says_length_range_exact_match_interval_and_chance(
    shown: Callable[..., str],
) -> None:
    text = shown()
    assert cells(text, 5) == ["5", "trained", "1.000", "0.963–1.000", "0.500"]
    assert cells(text, 40) == ["40", "beyond", "0.500", "0.404–0.596", "0.500"]


def test_findings(shown: Callable[..., str]) -> None:
    lines = [line.split() for line in shown().splitlines()]
    score = next(line for line in lines if line[:1] == ["score"])
    # 21..25 fall from .98 to .90, then 26..40 to .50.
    expected = (
        sum(0.98 - 0.016 * k for k in range(1, 6)) + sum(0.9 - 0.4 / 15 * k for k in range(1, 16))
    ) / 20
    assert float(score[1]) == pytest.approx(expected, abs=6e-4)
    assert score[-2:] == ["chance", "0.500"]
    assert ["holds", "to", "25"] in [line[:3] for line in lines]


def test_the_title_names_the_run(shown: Callable[..., str]) -> None:
    text = shown(positions="random", seed=7)
    assert "who_bit_whom  encoder, rope + random, seed 7" in text


@pytest.mark.parametrize("columns", [{}, {"token_accuracy": 0.99, "model": "decoder"}])
def test_80_columns_are_enough(shown: Callable[..., str], columns: dict[str, Any]) -> None:
    text = shown({10 * k: 0.1234 for k in range(1, 60)}, **columns)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert cells(text, 590)[2] == "0.123"


def test_token_accuracy_is_shown_where_it_says_more(shown: Callable[..., str]) -> None:
    assert "token" not in shown()
    text = shown(token_accuracy=0.75)
    assert cells(text, 40)[-2:] == ["0.750", "0.500"]
    assert "token score  0.750" in text
    assert "teacher-forced" not in text
    assert "teacher-forced" in shown(token_accuracy=0.75, model="decoder")


def test_an_unfitted_run_is_called_so_in_plain_words(shown: Callable[..., str]) -> None:
    assert "Not fitted" not in shown()
    assert "Not fitted: its exact match on trained lengths averages 0.600" in shown(
        {5: 0.7, 20: 0.5, 40: 1.0}
    )


def test_a_fit_that_was_not_looked_at_is_not_denied(shown: Callable[..., str]) -> None:
    text = shown({40: 1.0})
    assert "Fit not checked: no length that it was trained on was tested here." in text
    assert "Not fitted" not in text


def test_the_causal_mask_is_named_where_it_matters(shown: Callable[..., str]) -> None:
    assert "the causal mask" in shown(model="decoder", encoding="none")
    assert "the causal mask" not in shown(model="decoder")
    assert "the causal mask" not in shown(encoding="none")


def test_nothing_beyond_is_no_score_of_zero(shown: Callable[..., str]) -> None:
    assert "no length beyond 20 was tested" in shown({5: 1.0, 20: 1.0})


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([20, 500], "over lengths 21 to 500 (1 tested); chance"),
        ([50, 500], "over lengths 21 to 500 (2 tested); chance"),
        ([21, 50, 500], "over lengths 21 to 500; chance"),
    ],
)
def test_a_score_of_few_lengths_says_so(
    shown: Callable[..., str], lengths: list[int], words: str
) -> None:
    assert words in shown(dict.fromkeys(lengths, 0.5))


def test_one_seed_is_no_result(shown: Callable[..., str]) -> None:
    assert "One seed is not a result: compare several, `-m seed=0,1,2`" in shown()


def test_paths_and_commands_can_be_copied(shown: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / ("a/rather/long/path/" * 8)
    folder.mkdir(parents=True)
    assert f"run folder  {folder}" in shown(folder=folder).splitlines()
    assert "tensorboard" not in shown(folder=folder), "there is nothing to look at"
    (folder / "events.out.tfevents.1").touch()
    lines = [line.strip() for line in shown(folder=folder).splitlines()]
    assert "look at it  tensorboard --logdir 'out puts'" in lines
    assert "http://localhost:6006/?smoothing=0&runColorGroup=regex:(.*)/seed" in lines


@pytest.mark.parametrize("width", [20, 50])
def test_a_narrow_terminal_cuts_no_number(shown: Callable[..., str], width: int) -> None:
    columns = {"token_accuracy": 0.75, "model": "decoder"}
    wide, narrow = shown(**columns), shown(width=width, **columns)
    for length in CURVE:
        assert cells(narrow, length) == cells(wide, length)


def test_names_are_no_markup(shown: Callable[..., str]) -> None:
    assert "[bold]x[/bold]" in shown(task="[bold]x[/bold]")


def test_test_prompts_that_training_had_met_are_counted(shown: Callable[..., str]) -> None:
    text = shown(seen={5: 1.0, 20: 0.004, 60: 0.5})
    assert "Training had already met 100% of the prompts of length 5." in text
    assert "already met" not in shown(seen={5: 0.0})


def test_markdown_says_what_the_terminal_says(
    shown: Callable[..., str], planted: Callable[..., Any]
) -> None:
    columns = {"token_accuracy": 0.95, "model": "decoder"}
    printed, written = shown(**columns), markdown(planted(CURVE, **columns))
    _, findings, table, *_ = written.split("\n\n")
    head, rule, *rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in
                         table.splitlines())  # fmt: skip
    assert head[-2:] == ["token accuracy, teacher-forced", "token chance"]
    assert rule == ["---:", "---", *["---:"] * 5]
    assert rows == [cells(printed, length) for length in CURVE]
    words = " ".join(printed.split())
    assert len(findings.splitlines()) == 3
    for line in findings.splitlines():
        assert (
            " ".join(line.removeprefix("- ").replace("**", "").replace(": ", " ").split()) in words
        )
    assert written.startswith("**who_bit_whom  decoder, rope, seed ")
    assert "One seed is not a result" in written
