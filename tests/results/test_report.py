import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from posenc.errors import ConfigError
from posenc.results.identity import fingerprint
from posenc.results.legible import Legible
from posenc.results.reading import read
from posenc.results.report import contenders, markdown, runs, shown_lengths
from posenc.results.variants import differences, variants

SCRIPT = Path(__file__).parents[2] / "scripts" / "report.py"
GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 30: 0.4}
BETTER = {5: 1.0, 20: 1.0, 25: 1.0, 30: 0.8}
UNFITTED = {5: 0.5, 20: 0.5, 25: 0.5, 30: 0.5}

Planted = Callable[..., list[dict[str, Any]]]
WriteRun = Callable[..., Path]


def report(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def table(text: str) -> list[list[str]]:
    """The cells of all Markdown rows below their heads."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if row[0] not in ("encoding", "---")]


def test_a_contender_is_the_mean_of_its_fitted_seeds(planted: Planted) -> None:
    rows = pl.DataFrame(
        [*planted(GOOD, seed=0), *planted(BETTER, seed=1), *planted(UNFITTED, seed=2)]
    )
    [best] = contenders(rows, {}).to_dicts()
    assert (best["runs"], best["seeds"], best["fitted"]) == (3, 3, 2)
    # 21..25 fall linearly to .9, 26..30 on to .4; and 1.0 up to 25, then down to .8.
    worse = (sum(1 - 0.02 * k for k in range(1, 6)) + sum(0.9 - 0.1 * k for k in range(1, 6))) / 10
    better = (5 + sum(1 - 0.04 * k for k in range(1, 6))) / 10
    assert best["worst"] == pytest.approx(worse)
    assert best["best"] == pytest.approx(better)
    assert best["score"] == pytest.approx((worse + better) / 2)
    assert best["held"] == 25
    assert best["chance"] == pytest.approx(0.5)


def test_the_table_reads_best_first_and_marks_what_is_weak(planted: Planted) -> None:
    rows = [
        *planted(GOOD, seed=0),
        *planted(GOOD, seed=1),
        *planted(BETTER, seed=0, positions="random"),
        *planted(UNFITTED, seed=0, encoding="none"),
        *planted(BETTER, seed=0, encoding="none", model="decoder"),
    ]
    text = markdown(pl.DataFrame(rows), {})
    solved = ["1 of 1", "1 (single)", "1.00", "1.00", "0.80", "25", "0.94", "0.50"]
    assert table(text) == [
        ["none *", "decoder", *solved],
        ["rope + random", "encoder", *solved],
        ["rope", "encoder", "2 of 2", "2", "1.00", "0.90", "0.40", "25", "0.77", "0.50"],
        ["none", "encoder", "0 of 1", "1 (single)", "(0.50)", "(0.50)", "(0.50)", "–", "–", "0.50"],
    ]
    for note in (
        "one seed is not a result",
        "none of these runs is fitted",
        "the causal mask itself",
    ):
        assert note in text


def test_a_strong_table_carries_no_warning(planted: Planted) -> None:
    text = markdown(pl.DataFrame([*planted(GOOD, seed=0), *planted(GOOD, seed=1)]), {})
    assert not any(word in text for word in ("Single", "none of these runs", "mask", "differ"))


def test_one_table_for_every_task_and_trained_length(planted: Planted) -> None:
    rows = planted(GOOD) + planted(GOOD, task="copy") + planted(GOOD, train_max=5, seed=1)
    titles = [line for line in markdown(pl.DataFrame(rows), {}).splitlines() if line[:3] == "###"]
    assert titles == [
        "### copy, trained to length 20, tested at 4 lengths up to 30",
        "### who_bit_whom, trained to length 5, tested at 4 lengths up to 30",
        "### who_bit_whom, trained to length 20, tested at 4 lengths up to 30",
    ]


def test_runs_tested_at_other_lengths_are_never_compared_or_averaged(planted: Planted) -> None:
    rows = [*planted({20: 1.0, 25: 1.0}), *planted({20: 1.0, 25: 1.0, 30: 0.0}, seed=1)]
    text = markdown(pl.DataFrame(rows), {})
    assert [line[:12] for line in text.splitlines() if line[:3] == "###"] == ["### who_bit_"] * 2
    assert [line[2:6] for line in table(text)] == [
        ["1 of 1", "1 (single)", "1.00", "1.00"],
        ["1 of 1", "1 (single)", "1.00", "1.00"],
    ]
    assert [line[-2] for line in table(text)] == ["1.00", "0.70"]


def test_configurations_of_one_name_are_never_averaged(planted: Planted) -> None:
    rows = planted(GOOD, seed=0, fingerprint="a") + planted(BETTER, seed=1, fingerprint="b")
    base = "encoding.base"
    text = markdown(pl.DataFrame(rows), {"a": {base: 5.0}, "b": {base: 6.0}, "c": {base: 7.0}})
    names = [line[0] for line in table(text)]
    assert names == ["rope [encoding.base=6.0]", "rope [encoding.base=5.0]"]
    assert "settings in which contenders of one name differ" in text
    text = markdown(pl.DataFrame(rows), {"a": {base: 5.0}})
    assert [line[0] for line in table(text)] == ["rope [b]", "rope [a]"]
    assert "These rows differ" not in text


def test_neither_are_runs_that_were_given_other_positions_when_tested(planted: Planted) -> None:
    random = {"positions": "random", "positions_at_eval": "resample"}
    rows = [
        *planted(GOOD, **random),
        *planted(BETTER, seed=1, **random | {"positions_at_eval": "index"}),
        *planted(UNFITTED, seed=2, **random, draws=8),
    ]
    assert [line[0] for line in table(markdown(pl.DataFrame(rows), {}))] == [
        "rope + random [positions.at_eval=index, positions.draws=1]",
        "rope + random [positions.at_eval=resample, positions.draws=1]",
        "rope + random [positions.at_eval=resample, positions.draws=8]",
    ]


def test_settings_that_tell_variants_apart_come_from_their_runs(tmp_path: Path) -> None:
    def run(path: Path, **settings: Any) -> Path:
        names = {group: {"name": "x"} for group in ("task", "model", "positions")}
        encoding = {"name": "t5", "buckets": 32, "max_distance": 20} | settings
        text = json.dumps({**names, "encoding": encoding, "seed": 0})
        folder = path / f"seed0-{fingerprint(json.loads(text))}"
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(text)
        return folder

    plain, far, lone = run(tmp_path), run(tmp_path, max_distance=128), run(tmp_path, name="rope")
    changed, broken = run(tmp_path, buckets=8), run(tmp_path, buckets=4)
    text = (changed / "config.yaml").read_text()
    (changed / "config.yaml").write_text(text.replace('"buckets": 8', '"buckets": 16'))
    (broken / "config.yaml").write_bytes(b"\xff")
    found = variants([plain, far, lone, changed, broken, tmp_path])
    own, other, third = (folder.name[6:] for folder in (plain, far, lone))
    assert list(found) == [own, other, third]
    assert differences(found, [own, other, "unknown"]) == {
        "encoding.max_distance": {own: "20", other: "128"}
    }
    assert differences(found, [own, third]) == {"encoding.name": {own: "t5", third: "rope"}}
    assert differences(found, [own, own]) == {}


def line_of(text: str, start: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith(start)]


def test_rows_trained_in_other_ways_are_named_and_values_kept_apart(planted: Planted) -> None:
    steps = {"alibi": 5, "fire": 2000, "learned": 2000, "none": 2000, "rope": 400, "t5": 2000}
    rows = [row for name in steps for row in planted(GOOD, encoding=name, fingerprint=name)]
    settings = {
        name: {"model.width": 64, "encoding.name": name, "trainer.max_steps": count}
        for name, count in steps.items()
    }
    [line] = line_of(markdown(pl.DataFrame(rows), settings), "These rows differ")
    assert line == (
        "These rows differ in trainer.max_steps: 5 (alibi), 400 (rope), 2000 (others); "
        "compare within one value only."
    )
    settings["t5"]["model.width"] = 32
    del settings["alibi"]
    [line] = line_of(markdown(pl.DataFrame(rows), settings), "These rows differ")
    assert "model.width: unknown (alibi), 32 (t5), 64 (others); in trainer.max_steps: " in line
    assert "trainer.max_steps: unknown (alibi), 400 (rope), 2000 (others);" in line


def test_rows_of_one_name_are_told_by_model(planted: Planted) -> None:
    both = [("encoder", 400), ("decoder", 2000)]
    rows = [row for name, _ in both for row in planted(GOOD, model=name, fingerprint=name)]
    settings = {name: {"model.name": name, "trainer.max_steps": steps} for name, steps in both}
    [line] = line_of(markdown(pl.DataFrame(rows), settings), "These rows differ")
    assert "trainer.max_steps: 2000 (rope decoder), 400 (rope encoder);" in line


def test_what_a_table_compares_is_no_difference(planted: Planted) -> None:
    names = ["encoder", "decoder"]
    rows = [row for name in names for row in planted(GOOD, model=name, fingerprint=name)]
    settings = {
        name: {
            "encoding.name": name,
            "positions.name": name,
            "model.name": name,
            "model.causal": name == "decoder",
            "trainer.accelerator": name,
        }
        for name in names
    }
    assert "These rows differ" not in markdown(pl.DataFrame(rows), settings)


def test_tables_of_their_own_may_differ(planted: Planted) -> None:
    tasks = {"copy": 400, "reverse": 2000}
    rows = [row for task in tasks for row in planted(GOOD, task=task, fingerprint=task)]
    settings = {task: {"trainer.max_steps": steps} for task, steps in tasks.items()}
    assert "These rows differ" not in markdown(pl.DataFrame(rows), settings)


def test_rows_tested_on_fewer_problems_are_named(planted: Planted) -> None:
    rows = [*planted(GOOD), *planted(GOOD, encoding="fire", n=1000)]
    text = markdown(pl.DataFrame(rows), {})
    [line] = line_of(text, "Problems tested")
    assert line == (
        "Problems tested at each length: 1000 (fire), 100 (rope); the fewer, the less certain."
    )
    assert "Problems tested" not in markdown(pl.DataFrame(planted(GOOD)), {})


def test_one_row_for_every_run(planted: Planted) -> None:
    rows = pl.DataFrame([*planted(GOOD, seed=1), *planted({5: 1.0, 20: 1.0}, seed=0)])
    first, second = runs(rows, {}).sample(fraction=1, shuffle=True, seed=3).sort("seed").to_dicts()
    assert (first["seed"], first["score"], first["holds_to"]) == (0, None, 20)
    assert (second["seed"], second["holds_to"], second["label"]) == (1, 25, "rope")


@pytest.mark.parametrize(
    ("lengths", "train_max", "expected"),
    [
        ([5, 10, 15, 20, 25, 30, 40, 60, 80, 100], 20, [20, 25, 40, 60, 100]),
        ([5, 20, 30], 20, [20, 30]),
        ([5, 20], 20, [20]),
        ([30, 40], 20, [30, 40]),
    ],
)
def test_shown_lengths(lengths: list[int], train_max: int, expected: list[int]) -> None:
    assert shown_lengths(lengths, train_max) == expected


def test_reading_names_every_run_that_it_leaves_out(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    good = write_run(planted(GOOD))
    left_out = {
        write_run(planted(GOOD, seed=1), status="failed"): "failed",
        write_run(planted(GOOD, seed=2), status="interrupted"): "interrupted",
        write_run(planted(GOOD, seed=3), schema=99): "schema 99",
        write_run(planted(GOOD, seed=4)): "no lengths.csv",
        write_run(planted(GOOD, seed=5)): "no run.json",
        write_run(planted(GOOD, seed=6)): "cannot be read",
    }
    without_rows, without_run, broken = list(left_out)[3:]
    (without_rows / "lengths.csv").unlink()
    (without_run / "run.json").unlink()
    (broken / "run.json").write_text('{"schema": 2, "sta')
    rows, _, skipped = read([tmp_path, good])
    assert rows["seed"].unique().to_list() == [0]
    assert rows["length"].to_list() == list(GOOD)
    assert {folder for folder, _ in skipped} == set(left_out)
    for folder, reason in skipped:
        assert left_out[folder] in reason


def test_names_that_look_like_numbers_stay_names(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD, fingerprint="0123e456", encoding="none"))
    rows, *_ = read([tmp_path])
    assert rows.to_dicts() == planted(GOOD, fingerprint="0123e456", encoding="none")


def test_two_tables_that_disagree_on_one_run_are_refused(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_text(file.read_text())
    assert len(read([tmp_path])[0]) == len(GOOD)
    text = (copy / "lengths.csv").read_text()
    (copy / "lengths.csv").write_text(text.replace(",0.4,", ",0.41,"))
    with pytest.raises(ConfigError, match=r"disagree on the run task=who_bit_whom .* seed=0"):
        read([tmp_path])


def test_the_script_writes_rows_and_a_figure_and_prints_a_table(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    for seed in (2, 0, 1):
        write_run(planted(GOOD, seed=seed))
    write_run(planted(GOOD, seed=3), status="failed")
    first, again = (report(tmp_path / "outputs", "--out", tmp_path / out) for out in "ab")
    assert first.returncode == 0, first.stderr
    assert table(first.stdout)[0][:4] == ["rope", "encoder", "3 of 3", "3"]
    left_out, wrote = first.stderr.splitlines()
    assert left_out.endswith("seed3-f0: failed")
    assert wrote == f"wrote {tmp_path / 'a/results.csv'} and {tmp_path / 'a/figure.png'}"
    assert again.stdout == first.stdout
    for name in ("results.csv", "figure.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    rows = pl.read_csv(tmp_path / "a" / "results.csv")
    assert rows["seed"].to_list() == [seed for seed in range(3) for _ in GOOD]
    assert rows["length"].to_list() == [*GOOD] * 3


def test_by_default_the_script_writes_into_the_first_folder(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(UNFITTED))
    assert report(tmp_path / "outputs", tmp_path).returncode == 0
    assert (tmp_path / "outputs" / "figure.png").exists()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text.replace(",chance,", ",luck,"), "lacks the column 'chance'"),
        (lambda text: "", "cannot be read"),
        (lambda text: text.replace(",20,", ",twenty,"), "cannot be read"),
        (lambda text: text.replace(",7,", f",{2**63},"), "cannot be read"),
        (lambda text: text.replace("rope", "\xff"), "cannot be read"),
        (lambda text: "\0\xff" * 99, "lacks the column 'task'"),
        (lambda text: text[:-20], "not the whole table"),
        (lambda text: text.splitlines()[0], "not the whole table"),
        (lambda text: text + text.splitlines()[-1], "not the whole table"),
        (lambda text: text.replace(",0.4,", ",1.4,"), "not the whole table"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_table_is_left_out_by_name_and_the_others_stay(
    planted: Planted,
    write_run: WriteRun,
    tmp_path: Path,
    damage: Callable[[str], str] | None,
    reason: str,
) -> None:
    write_run(planted(GOOD, seed=0))
    folder = write_run(planted(GOOD, seed=7))
    path = folder / "lengths.csv"
    text = path.read_text()
    path.unlink()
    if damage is None:
        path.mkdir()
    else:
        path.write_text(damage(text), encoding="latin-1")
    rows, _, [skipped] = read([tmp_path])
    assert rows["seed"].unique().to_list() == [0]
    assert skipped.folder == folder
    assert skipped.reason.startswith("its lengths.csv")
    assert reason in skipped.reason


def test_a_folder_name_is_no_pattern(planted: Planted, write_run: WriteRun, tmp_path: Path) -> None:
    write_run(planted(GOOD)).rename(tmp_path / "outputs" / "a[b]*")
    assert read([tmp_path]).rows.height == len(GOOD)


def test_nothing_to_report_is_an_error_of_one_line(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    empty = report(tmp_path)
    assert empty.returncode == 2
    assert empty.stderr == f"error: no finished run below {tmp_path}: train one\n"
    write_run(planted(GOOD), status="running")
    running = report(tmp_path)
    assert running.returncode == 2
    assert running.stderr.splitlines()[0].endswith(": running")
    missing = report(tmp_path / "nowhere")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_a_terminal_cuts_no_number(planted: Planted) -> None:
    curve = {20: 0.123, 25: 0.2, 30: 0.3, 40: 0.4, 50: 0.5}
    rows = planted(GOOD | curve, positions="random") + planted(curve, train_max=40)
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    console.print(Legible(markdown(pl.DataFrame(rows), {})))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in shown
    assert "|" not in shown
    for number in ("(0.12)", "(0.20)", "(0.30)", "(0.40)", "(0.50)"):
        assert number in shown


@pytest.mark.parametrize("place", ["file", "/dev/null/below", "/proc/nowhere"])
def test_a_place_that_cannot_be_written_in_is_refused(
    planted: Planted, write_run: WriteRun, tmp_path: Path, place: str
) -> None:
    write_run(planted(GOOD))
    (tmp_path / "file").touch()
    refused = report(tmp_path / "outputs", "--out", tmp_path / place)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith(f"error: --out {tmp_path / place}: ")


def test_a_reader_that_leaves_and_a_poor_encoding_are_no_error(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(UNFITTED))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "outputs")]
    ascii = {**os.environ, "PYTHONIOENCODING": "ascii"}
    poor = subprocess.run(command, capture_output=True, text=True, env=ascii)
    assert poor.returncode == 0
    assert "| ? |" in poor.stdout
    reader, writer = os.pipe()
    os.close(reader)
    left = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert left.returncode == 1
    assert "Error" not in left.stderr
    with open("/dev/full", "w") as full:
        lost = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert lost.returncode == 2
    assert lost.stderr.splitlines()[-1] == "error: [Errno 28] No space left on device"
