"""From run folders to a report: as a document, as Markdown, on a terminal and by the script."""

import io
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
import polars as pl
import pytest
from command_line import Ended
from rich.console import Console

from posenc.choosing import PROJECT
from posenc.errors import ConfigError
from posenc.results.document import Document
from posenc.results.legible import Legible
from posenc.results.panels import Panel
from posenc.results.reading import Found, read
from posenc.results.report import READING, document, markdown, summary

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
Study = Callable[..., Panel]
WriteRun = Callable[..., Path]

SCRIPT = PROJECT / "scripts" / "report.py"
GOLDEN = Path(__file__).parent / "golden.md"
GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 30: 0.4}
BETTER = {5: 1.0, 20: 1.0, 25: 1.0, 30: 0.8}
UNFITTED = {5: 0.5, 20: 0.5, 25: 0.5, 30: 0.5}


def report(*arguments: str | Path) -> Ended:
    return command_line.run(*map(str, arguments), script="scripts/report.py")


def titles(told: Document) -> dict[str, list[str]]:
    """Section -> its tables."""
    sections = [*told.sections, *told.appendices]
    return {section.title: [table.title for table in section.tables] for section in sections}


def scored(planted: Planted, *scores: float, **columns: Any) -> list[dict[str, Any]]:
    """Rows of an encoding with these scores at seeds 0, 1, ..."""
    return [
        row
        for seed, score in enumerate(scores)
        for row in planted({20: 1.0, 21: score}, seed=seed, **columns)
    ]


class TestDocument:
    """What a report holds, and in which order."""

    @pytest.fixture
    def rows(self, planted: Planted) -> list[dict[str, Any]]:
        return [
            *scored(planted, 0.9, 0.9, encoding="rope"),
            *scored(planted, 0.5, 0.5, encoding="sinusoidal"),
            *scored(planted, 0.7, 0.7, encoding="t5"),
            *scored(planted, 0.7, 0.7, encoding="t5", task="copy"),
            *scored(planted, 0.1, 0.1, encoding="rope", task="copy"),
        ]

    def test_bits_are_means_over_all_runs_the_fewest_at_the_end_first(
        self, planted: Planted, found: Read
    ) -> None:
        rows = [
            *planted({20: 1.0}, loss=0.5 * math.log(2), encoding="rope"),
            *planted({40: 0.5}, loss=math.log(2), encoding="rope"),
            *planted({20: 1.0}, loss=1.5 * math.log(2), encoding="rope", seed=1),
            *planted({40: 0.5}, loss=3 * math.log(2), encoding="rope", seed=1),
            *planted({20: 0.1, 40: 0.5}, loss=1.5 * math.log(2), encoding="t5"),
        ]
        first = document(found(rows), metric="bits").sections[0].tables[0]
        assert first.head == ["encoding", "runs", "in range", "2x: 40"]
        assert [[cell.text for cell in row] for row in first.rows] == [
            ["t5", "1", "1.50", "1.50"],
            ["rope", "2", "1.00", "2.00"],
        ]

    def test_panels_come_first_and_then_what_is_over_all(
        self, rows: list[dict[str, Any]], found: Read
    ) -> None:
        assert titles(document(found(rows))) == {
            "copy, encoder": [
                "trained to length 20, tested at 2 lengths up to 21",
                "Against the best, t5",
            ],
            "who_bit_whom, encoder": [
                "trained to length 20, tested at 2 lengths up to 21",
                "Against the best, rope",
                "Against sinusoidal, fitted runs",
            ],
            "Across tasks, encoder": ["Mean rank"],
            "Every run": ["Every run"],
        }

    def test_a_baseline_can_be_named(self, rows: list[dict[str, Any]], found: Read) -> None:
        told = titles(document(found(rows), "rope"))
        assert told["copy, encoder"][1:] == ["Against the best, t5", "Against rope, fitted runs"]
        assert told["who_bit_whom, encoder"][1:] == ["Against the best, rope"]

    def test_a_baseline_that_nobody_has_is_refused_with_the_choices(
        self, rows: list[dict[str, Any]], found: Read
    ) -> None:
        reason = r"^--baseline 'alibi': choose one of rope, sinusoidal, t5$"
        with pytest.raises(ConfigError, match=reason):
            document(found(rows), "alibi")

    def test_every_run_is_compared_too_where_some_are_not_fitted(
        self, planted: Planted, found: Read
    ) -> None:
        rows = planted(GOOD) + planted(UNFITTED, encoding="t5")
        assert titles(document(found(rows)))["who_bit_whom, encoder"][1:] == [
            "Against rope, every run, fitted or not",
        ]

    def test_one_alone_is_compared_with_nothing(self, planted: Planted, found: Read) -> None:
        [section] = document(found(planted(GOOD))).sections
        assert len(section.tables) == 1

    def test_costs_and_what_was_left_out_are_told_where_there_are_any(
        self, planted: Planted, write_run: WriteRun, tmp_path: Path
    ) -> None:
        write_run(planted(GOOD))
        write_run(planted(GOOD, seed=1), status="running")
        told = document(read([tmp_path]))
        assert titles(told)["who_bit_whom, encoder"][-1] == "Cost"
        assert list(titles(told))[-2:] == ["Left out", "Every run"]
        assert told.summary == (
            "1 finished run, 1 encoding, 1 task, 1 seed; 0 not fitted, 1 left out."
        )

    def test_a_run_that_was_asked_twice_is_one(self, planted: Planted, found: Read) -> None:
        again = planted({10: 1.0, 40: 0.5}, evaluation="e1")
        assert document(found(planted(GOOD) + again)).summary == (
            "1 finished run, 1 encoding, 1 task, 1 seed; 0 not fitted, 0 left out."
        )

    def test_the_summary_counts(self, rows: list[dict[str, Any]], found: Read) -> None:
        assert document(found(rows)).summary == (
            "10 finished runs, 3 encodings, 2 tasks, 2 seeds; 0 not fitted, 0 left out."
        )


def test_signs_that_mean_something_to_markdown_do_not_in_a_table(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD))
    trouble = "ValueError: <lambda> of *a | b*"
    left_out = write_run(planted(GOOD, seed=1), status="failed", traceback=trouble)
    left_out = left_out.rename(tmp_path / "outputs" / "my [run] (old)")
    text = markdown(document(read([tmp_path])), beside=tmp_path / "reports")
    [line] = [line for line in text.splitlines() if "ValueError" in line]
    assert line == (
        "| [my [run] (old)](../outputs/my%20%5Brun%5D%20%28old%29) "
        r"| failed: ValueError: \<lambda> of \*a \| b\* |"
    )


def test_nothing_about_a_report_depends_on_the_order_of_runs(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    several = [
        (GOOD, {"seed": seed, "encoding": encoding, "fingerprint": encoding})
        for seed in range(3)
        for encoding in ("rope", "t5", "fire", "alibi")
    ]
    texts = []
    for ordered in (several, several[::-1]):
        shutil.rmtree(tmp_path / "outputs", ignore_errors=True)
        for curve, columns in ordered:
            write_run(planted(curve, **columns))
        texts.append(markdown(document(read([tmp_path])), beside=tmp_path))
    assert texts[0] == texts[1]


def test_a_small_report_reads_as_it_did(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    """Written anew by `GOLDEN=write python -m pytest tests/results -k reads_as_it_did`."""
    solved = {"alibi": (1.0, 0.98), "rope": (0.9, 0.6), "sinusoidal": (0.6, 0.3)}
    for task in ("copy", "who_bit_whom"):
        for encoding, (near, far) in solved.items():
            for seed in range(3):
                run = {"task": task, "encoding": encoding, "seed": seed, "fingerprint": encoding}
                curve = {10: 1.0, 20: 0.99, 25: near, 40: far - 0.05 * seed}
                ending: dict[str, Any] = {"train_seconds": 20.0 + len(encoding)}
                if (task, encoding, seed) == ("copy", "alibi", 1):
                    curve = dict.fromkeys(curve, 0.25)
                if (task, encoding, seed) == ("copy", "sinusoidal", 2):
                    ending = {"status": "failed", "traceback": "...\nMemoryError: no room"}
                write_run(planted(curve, **run), **ending)
    outputs = tmp_path / "outputs"
    text = markdown(document(read([outputs])), beside=outputs)
    shown, _, explained = text.partition("## How to read this\n")
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8")
    assert explained == "\n" + "\n\n".join(READING) + "\n"


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_cuts_no_number(planted: Planted, found: Read, width: int) -> None:
    curve = {5: 1.0, 20: 0.9, 25: 0.123, 40: 0.234, 60: 0.345, 100: 0.456, 120: 0.567}
    rows = []
    for encoding in ("alibi_asymmetric", "sinusoidal", "transformer_xl"):
        own = {"encoding": encoding, "fingerprint": encoding, "token_accuracy": 0.789}
        for seed in range(6):
            rows += planted(curve, seed=seed, positions="random", **own)
    rows += planted(curve, encoding="sinusoidal", positions="random", token_accuracy=0.678)
    positions = "positions.at_eval"
    told = document(found(rows, {"sinusoidal": {positions: "even"}, "f0": {positions: "resample"}}))
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(Legible(summary(told)))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in shown
    assert "|" not in shown
    assert max(map(len, shown.splitlines())) <= width
    rows_told = [row for table in told.sections[0].tables for row in [*table.rows, *table.foot]]
    numbers = [word for row in rows_told for cell in row[1:] for word in cell.text.split()]
    assert "0.12" in numbers
    assert not Counter(numbers) - Counter(shown.split())


class TestScript:
    """scripts/report.py."""

    @pytest.fixture
    def outputs(self, planted: Planted, write_run: WriteRun, tmp_path: Path) -> Path:
        for seed in (2, 0, 1):
            write_run(planted(GOOD, seed=seed))
            write_run(planted(BETTER, seed=seed, encoding="t5"))
        return tmp_path / "outputs"

    def test_it_prints_a_verdict_and_writes_every_format(
        self, outputs: Path, tmp_path: Path
    ) -> None:
        ended = report(outputs, "--out", tmp_path / "a")
        files = ["report.html", "report.md", "figure.png", "figure.svg", "results.csv"]
        assert ended.code == 0, ended.err
        assert ended.err == f"wrote {', '.join(str(tmp_path / 'a' / name) for name in files)}\n"
        assert ended.out == summary(document(read([outputs]))) + "\n"
        assert "- t5 has the highest mean score, 0.94 over 3 seeds." in ended.out
        starts = {
            "report.html": b"<!doctype html>",
            "figure.png": b"\x89PNG",
            "figure.svg": b"<svg",
        }
        for name, start in starts.items():
            assert (tmp_path / "a" / name).read_bytes().lower().startswith(start.lower())
        assert (tmp_path / "a" / "report.md").read_text() == markdown(
            document(read([outputs])), beside=tmp_path / "a"
        )
        rows = pl.read_csv(tmp_path / "a" / "results.csv")
        assert rows["seed"].to_list() == [seed for _ in "ab" for seed in range(3) for _ in GOOD]
        assert rows["length"].to_list() == [*GOOD] * 6

    def test_it_writes_the_same_again(self, outputs: Path, tmp_path: Path) -> None:
        for place in ("one", "two"):
            assert report(outputs, "--out", tmp_path / place).code == 0
        for path in (tmp_path / "one").iterdir():
            assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name

    def test_by_default_it_writes_into_the_first_folder(self, outputs: Path) -> None:
        assert report(outputs, outputs.parent, "--format", "md,csv").code == 0
        names = {path.name for path in outputs.iterdir() if path.is_file()}
        assert names == {"report.md", "results.csv"}

    def test_one_name_is_shared_by_all_formats(self, outputs: Path, tmp_path: Path) -> None:
        out = tmp_path / "new" / "study.html"
        ended = report(outputs, "--out", out, "--format", "md,csv")
        assert ended.err == f"wrote {out.with_suffix('.md')}, {out.with_suffix('.csv')}\n"
        assert {path.name for path in out.parent.iterdir()} == {"study.md", "study.csv"}

    def test_a_folder_may_be_called_like_a_file(self, outputs: Path, tmp_path: Path) -> None:
        (tmp_path / "study.md").mkdir()
        assert report(outputs, "--out", tmp_path / "study.md", "--format", "md").code == 0
        assert (tmp_path / "study.md" / "report.md").exists()

    def test_an_unknown_format_is_refused_with_the_choices(self, outputs: Path) -> None:
        ended = report(outputs, "--format", "md,pdf")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == (
            "error: --format md,pdf: 'pdf' is none; choose one of html, md, png, svg, csv\n"
        )

    def test_a_baseline_is_taken_or_refused(self, outputs: Path) -> None:
        taken = report(outputs, "--baseline", "rope", "--format", "csv")
        assert "### Against rope, fitted runs" in taken.out
        (outputs / "results.csv").unlink()
        refused = report(outputs, "--baseline", "alibi", "--format", "csv")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == "error: --baseline 'alibi': choose one of rope, t5\n"
        assert not (outputs / "results.csv").exists()

    def test_pictures_and_tables_show_the_metric_that_is_asked_for(self, outputs: Path) -> None:
        ended = report(outputs, "--metric", "bits", "--format", "svg,html")
        assert "### loss, bits a token, over all runs: trained to length 20" in ended.out
        assert "loss, bits a token" in (outputs / "figure.svg").read_text()
        assert 'value="bits" checked' in (outputs / "report.html").read_text()
        assert "loss, bits" not in report(outputs, "--format", "svg").out
        assert "loss, bits" not in (outputs / "figure.svg").read_text()

    def test_what_is_left_out_is_said_first(
        self, outputs: Path, planted: Planted, write_run: WriteRun
    ) -> None:
        failed = write_run(planted(GOOD, seed=3), status="failed", traceback="...\nOSError: full")
        running = write_run(planted(GOOD, seed=4), status="running")
        ended = report(outputs, "--format", "md")
        assert ended.err.splitlines()[:-1] == [
            f"left out: {failed}: failed: OSError: full",
            f"left out: {running}: running",
        ]
        for words in ("failed: OSError: full", "running"):
            assert words in (outputs / "report.md").read_text()

    def test_kept_rows_are_reported_on_and_not_written_over(
        self, outputs: Path, tmp_path: Path
    ) -> None:
        assert report(outputs, "--format", "csv").code == 0
        kept = (outputs / "results.csv").rename(tmp_path / "kept.csv")
        content = kept.read_bytes()
        ended = report(kept, "--format", "md,csv")
        assert ended.err == f"wrote {tmp_path / 'kept.md'}\n"
        tables = (tmp_path / "kept.md").read_text().partition("## Every run")[0]
        assert "| t5 | 3/3 |" in tables
        assert "### Cost" not in tables
        refused = report(outputs, kept, "--out", kept, "--format", "csv")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == (
            f"error: --out {kept}: would be written over what is read; name another place\n"
        )
        assert kept.read_bytes() == content

    def test_what_cannot_be_written_leaves_what_was_there(
        self, outputs: Path, tmp_path: Path
    ) -> None:
        place = tmp_path / "there.md"
        place.write_text("as it was")
        (tmp_path / ".there.md.unfinished").mkdir()
        refused = report(outputs, "--out", place, "--format", "md")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert place.read_text() == "as it was"

    def test_nothing_to_report_is_an_error_of_one_line(
        self, planted: Planted, write_run: WriteRun, tmp_path: Path
    ) -> None:
        assert report(tmp_path) == (2, "", f"error: no finished run below {tmp_path}: train one\n")
        write_run(planted(GOOD), status="running")
        running = report(tmp_path)
        assert (running.code, running.out) == (2, "")
        assert running.err.splitlines()[0].endswith(": running")
        missing = report(tmp_path / "nowhere")
        assert (missing.code, missing.err.count("\n")) == (2, 1)

    @pytest.mark.parametrize("place", ["file/below", "/dev/null/below", "/proc/nowhere"])
    def test_a_place_that_cannot_be_written_in_is_refused(
        self, outputs: Path, tmp_path: Path, place: str
    ) -> None:
        (tmp_path / "file").touch()
        refused = report(outputs, "--out", tmp_path / place, "--format", "md")
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert refused.err.startswith(f"error: --out {tmp_path / place}: ")

    def test_a_first_folder_that_cannot_be_written_in_is_named(
        self, outputs: Path, tmp_path: Path
    ) -> None:
        (outputs / "report.md").mkdir()
        refused = report(outputs, "--format", "md")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"error: --out {outputs}: ")

    def test_torch_is_never_imported(self, outputs: Path) -> None:
        program = (
            f"import runpy, sys; sys.argv = ['report.py', {str(outputs)!r}];"
            f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__');"
            "sys.exit(3 if 'torch' in sys.modules else 0)"
        )
        done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True)
        assert done.returncode == 0, done.stderr

    def test_a_reader_that_leaves_and_a_poor_encoding_are_no_error(
        self, planted: Planted, write_run: WriteRun, tmp_path: Path
    ) -> None:
        write_run(planted(UNFITTED))
        command = [sys.executable, str(SCRIPT), str(tmp_path / "outputs"), "--format", "md"]
        ascii = {**os.environ, "PYTHONIOENCODING": "ascii"}
        poor = subprocess.run(command, capture_output=True, text=True, env=ascii)
        assert poor.returncode == 0, poor.stderr
        assert "| ? |" in poor.stdout
        reader, writer = os.pipe()
        os.close(reader)
        left = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert left.returncode == 1
        assert "Error" not in left.stderr
        with open("/dev/full", "w") as full:
            lost = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert lost.returncode == 1
        line = lost.stderr.splitlines()[-1]
        assert line.startswith("error: standard output: [Errno 28] No space left on device")
