"""What is read of run folders, and that nothing is left out without a word."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posenc.errors import ConfigError
from posenc.results.identity import evaluation_hash
from posenc.results.reading import EVALUATED, Found, read

GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 30: 0.4}

Planted = Callable[..., list[dict[str, Any]]]
WriteRun = Callable[..., Path]


def seeds(found: Found) -> list[int]:
    return sorted(found.rows["seed"].unique().to_list())


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_rows_come_back_with_a_hash_of_what_was_asked(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    rows = planted(GOOD)
    write_run(rows, asked={"eval.samples": 100})
    own = evaluation_hash({"eval.samples": 100})
    assert read([tmp_path]).rows.to_dicts() == [row | {"evaluation": own} for row in rows]


def test_rows_are_sorted_wherever_their_folders_lie(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    for seed in (2, 10, 0):
        write_run(planted(dict(reversed(GOOD.items())), seed=seed))
    write_run(planted(GOOD, seed=1)).rename(tmp_path / "elsewhere")
    rows = read([tmp_path]).rows
    assert rows["seed"].to_list() == [seed for seed in (0, 1, 2, 10) for _ in GOOD]
    assert rows["length"].to_list() == [*GOOD] * 4


def test_names_that_look_like_numbers_stay_names(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD, fingerprint="0123e456", encoding="none", task="7"))
    row, *_ = read([tmp_path]).rows.to_dicts()
    assert (row["fingerprint"], row["encoding"], row["task"]) == ("0123e456", "none", "7")


def test_every_run_that_is_left_out_is_named_with_the_reason(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD))
    traceback = 'Traceback (most recent call last):\n  File "x.py"\nValueError: no such thing\n'
    left_out = {
        write_run(planted(GOOD, seed=1), status="failed", traceback=traceback): (
            "failed: ValueError: no such thing"
        ),
        write_run(planted(GOOD, seed=2), status="interrupted"): "interrupted",
        write_run(planted(GOOD, seed=3), status="running"): "running",
        (old := write_run(planted(GOOD, seed=4))): f"{old / 'run.json'} has schema 1, not 2",
        (rowless := write_run(planted(GOOD, seed=5))): "finished, but has no lengths.csv",
        (untold := write_run(planted(GOOD, seed=6))): "has no run.json",
        (broken := write_run(planted(GOOD, seed=7))): f"{broken / 'run.json'} cannot be read (",
        (bare := write_run(planted(GOOD, seed=8), settings={})): "tells no settings",
    }
    change(old / "run.json", '"schema": 2', '"schema": 1')
    (rowless / "lengths.csv").unlink()
    (untold / "run.json").unlink()
    (broken / "run.json").write_text('{"schema": 2, "sta')
    change(bare / "run.json", '"settings": {\n    "task', '"set": {\n    "task')
    found = read([tmp_path])
    assert seeds(found) == [0]
    assert {path for path, _ in found.skipped} == set(left_out)
    for path, reason in found.skipped:
        assert left_out[path] in reason


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text.replace(",chance,", ",luck,"), "line 2: a row lacks chance"),
        (lambda text: "", "no row"),
        (lambda text: text.splitlines()[0], "no row"),
        (lambda text: text.replace(",25,", ",many,"), "line 4: invalid literal for int"),
        (lambda text: text.replace("rope", "\xff"), "utf-8"),
        (lambda text: "\0\xff" * 99, "utf-8"),
        (lambda text: text[:-20], "line 5: a row lacks"),
        (lambda text: text.replace(",0.4,", ",1.4,"), "line 5: an exact match of 1.4 over 100"),
        (lambda text: text.replace(",100,", ",0,"), "over 0 problems"),
        (lambda text: text + text.splitlines()[-1], "a length is there twice"),
        (lambda text: text.replace(",7,", f",{2**63},"), "a number is beyond"),
        (lambda text: text.replace(",7,f0,20,25,", ",8,f0,20,25,"), "rows of several runs"),
        (None, "Is a directory"),
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
    path = write_run(planted(GOOD, seed=7)) / "lengths.csv"
    text = path.read_text()
    path.unlink()
    if damage is None:
        path.mkdir()
    else:
        path.write_text(damage(text), encoding="latin-1")
    found = read([tmp_path])
    [skipped] = found.skipped
    assert seeds(found) == [0]
    assert skipped.path == path
    assert reason in skipped.reason


def test_a_loss_that_is_no_number_is_no_damage(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    write_run(planted(GOOD, loss=float("nan")))
    write_run(planted(GOOD, seed=1, loss=float("inf")))
    assert seeds(read([tmp_path])) == [0, 1]


def test_a_folder_name_is_no_pattern(planted: Planted, write_run: WriteRun, tmp_path: Path) -> None:
    write_run(planted(GOOD)).rename(tmp_path / "outputs" / "a[b]*")
    assert read([tmp_path]).rows.height == len(GOOD)


def test_a_folder_that_is_reached_on_several_ways_counts_once(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    (tmp_path / "link").symlink_to(folder)
    found = read([tmp_path, folder, tmp_path / "outputs", tmp_path / "link"])
    assert found.rows.height == len(GOOD)
    assert found.skipped == []


def test_a_copy_is_named_and_counts_once(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    copy = shutil.copytree(folder, tmp_path / "copy")
    found = read([tmp_path])
    assert found.rows.height == len(GOOD)
    [(path, reason)] = found.skipped
    assert path == folder / "lengths.csv"
    assert reason == f"holds the same rows as {copy / 'lengths.csv'}"


def test_neither_of_two_tables_that_disagree_on_one_run_is_counted(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    write_run(planted(GOOD, seed=1))
    copy = shutil.copytree(folder, tmp_path / "copy")
    change(copy / "lengths.csv", ",0.4,", ",0.41,")
    found = read([tmp_path])
    assert seeds(found) == [1]
    both = [copy / "lengths.csv", folder / "lengths.csv"]
    assert [path for path, _ in found.skipped] == both
    for (_, reason), other in zip(found.skipped, reversed(both), strict=True):
        assert reason.startswith(f"disagrees with {other} on the same run, so neither is counted")


def test_later_evaluations_are_read_beside_the_first(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    first, later = {"eval.samples": 100}, {"eval.samples": 100, "eval.seed": 1}
    write_run(planted(GOOD), asked=first)
    folder = write_run(planted(GOOD, eval_seed=1), asked=later)
    found = read([tmp_path])
    hashes = {evaluation_hash(asked): asked for asked in (first, later)}
    assert {own: found.variants[own] for own in hashes} == hashes
    told = dict(found.rows.select("evaluation", "eval_seed").unique().rows())
    assert told == {own: asked.get("eval.seed", 0) for own, asked in hashes.items()}
    assert {key[-1]: origin.folder for key, origin in found.origins.items()} == dict.fromkeys(
        hashes, folder
    )


def test_rows_of_which_nobody_tells_what_was_asked_are_left_out(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    stray = shutil.copy(folder / "lengths.csv", folder / "lengths-0.csv")
    found = read([tmp_path])
    assert found.rows.height == len(GOOD)
    assert found.skipped == [(stray, "its run.json does not tell what was asked for lengths-0.csv")]


def test_settings_and_costs_come_from_run_json(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(
        planted(GOOD), {"encoding.base": 5.0}, train_seconds=30.0, host="box", threads=2
    )
    write_run(planted(GOOD, seed=1), {"encoding.base": 5.0}, train_seconds=None, parameters=None)
    found = read([tmp_path])
    assert found.variants["f0"]["encoding.base"] == 5.0
    keys = found.rows.select(EVALUATED).unique().sort("seed").rows()
    measured, unknown = (found.origins[key] for key in keys)
    assert measured == (folder, 1234, 30.0 / 2000, 2000, "box, 2 threads")
    assert (unknown.parameters, unknown.step_seconds) == (None, None)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere: there is no such folder; name one"):
        read([tmp_path / "nowhere"])


def test_nothing_found_is_an_empty_table_with_all_columns(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    empty = read([tmp_path]).rows
    write_run(planted(GOOD))
    assert empty.is_empty()
    assert empty.schema == read([tmp_path]).rows.schema


class TestKeptRows:
    """A results.csv as a report writes it."""

    @pytest.fixture
    def kept(self, planted: Planted, write_run: WriteRun, tmp_path: Path) -> Path:
        for seed in range(3):
            write_run(planted(GOOD, seed=seed))
        path = tmp_path / "kept.csv"
        path.write_bytes(read([tmp_path / "outputs"]).rows.write_csv().encode())
        return path

    def test_they_are_the_rows_that_were_written(self, kept: Path, tmp_path: Path) -> None:
        again = read([kept])
        assert again.rows.equals(read([tmp_path / "outputs"]).rows)
        assert (again.origins, again.variants, again.skipped) == ({}, {}, [])

    def test_beside_their_own_folders_they_count_once(self, kept: Path, tmp_path: Path) -> None:
        found = read([tmp_path / "outputs", kept])
        assert found.rows.height == 3 * len(GOOD)
        assert [path.name for path, _ in found.skipped] == ["lengths.csv"] * 3
        assert len(found.origins) == 3

    def test_older_ones_hold_one_evaluation_of_a_run(self, kept: Path) -> None:
        lines = kept.read_text().splitlines()
        kept.write_text("\n".join(line.rpartition(",")[0] for line in lines))
        rows = read([kept]).rows
        assert rows["evaluation"].unique().to_list() == [""]
        assert rows.height == 3 * len(GOOD)

    @pytest.mark.parametrize(
        ("damage", "reason"),
        [
            (lambda text: "", "empty CSV"),
            (lambda text: "a,b\n1,2\n", "task"),
            (lambda text: text.replace(",25,", ",many,"), "many"),
            (lambda text: text.replace(",0.4,", ",1.4,"), "line 5 "),
            (lambda text: text.replace(",0.4,", ",,"), "line 5 "),
            (lambda text: text + text.splitlines()[-1], "line 14 "),
        ],
    )
    def test_others_are_refused(
        self, kept: Path, damage: Callable[[str], str], reason: str
    ) -> None:
        kept.write_text(damage(kept.read_text()))
        with pytest.raises(ConfigError, match=rf"^{kept}: .*{reason}.*results\.csv"):
            read([kept])


def test_a_run_json_of_another_form_is_named(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(run | {"evaluations": ["lengths.csv"]}))
    [(path, reason)] = read([tmp_path]).skipped
    assert path == folder
    assert "run.json is damaged (evaluations)" in reason
    (folder / "run.json").write_text(json.dumps(run | {"evaluations": {}}))
    [(path, reason)] = read([tmp_path]).skipped
    assert path == folder / "lengths.csv"
    assert reason == "its run.json does not tell what was asked for lengths.csv"


def test_runs_that_looked_for_settings_are_no_contenders_unless_they_are_named(
    planted: Planted, write_run: WriteRun, tmp_path: Path
) -> None:
    folder = write_run(planted(GOOD))
    trial = tmp_path / "outputs" / "tuning" / "who_bit_whom" / "encoder-rope-index" / "seed0-aa"
    shutil.copytree(folder, trial)
    assert len(read([tmp_path / "outputs"]).origins) == 1
    assert not read([tmp_path / "outputs"]).skipped
    assert len(read([tmp_path / "outputs" / "tuning"]).origins) == 1
