"""Where a run is kept, who may write there, and that no file of it is ever seen half written."""

import copy
import sys
from collections.abc import Callable
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import posenc.cli  # noqa: F401  configs/train.yaml needs the resolver that it registers
from posenc.choosing import CONFIGS, PLUGINS, choices
from posenc.errors import ConfigError
from posenc.results.identity import asked, evaluation_hash, fingerprint, flat, shaping
from posenc.results.records import COLUMNS, RunFolder

Settings = dict[str, Any]

ASKED_AFTERWARDS = ("eval.", "length.test", "positions.at_eval", "positions.draws")
NO_TRACE = (
    "logger.", "threads", "outputs", "overwrite", "checkpoint.", "data.workers",
    "trainer.log_every_n_steps", "trainer.enable_progress_bar", "trainer.devices",
    "trainer.compile", "task.path",
)  # fmt: skip


def composed(*overrides: str) -> Settings:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return OmegaConf.to_container(compose("train", list(overrides)), resolve=True)  # type: ignore[return-value]


def leaves(node: Settings, prefix: str = "") -> dict[str, Any]:
    found = {}
    for key, value in node.items():
        below = isinstance(value, dict)
        found |= leaves(value, f"{prefix}{key}.") if below else {f"{prefix}{key}": value}
    return found


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else [11, 12]


def variants(settings: Settings) -> dict[str, Settings]:
    """The settings with another value at one key, for every key there is."""
    found = {}
    for key, value in leaves(settings).items():
        variant = OmegaConf.create(copy.deepcopy(settings))
        OmegaConf.update(variant, key, other(value), merge=False)
        found[key] = OmegaConf.to_container(variant)
    return found


REFUSED = 3
"""Exit status of a process that found a folder locked."""
GIVEN = composed("positions=random")
CATALOGUE = [f"{group}={name}" for group in (*PLUGINS, "model") for name in choices(group)]


@pytest.mark.parametrize("choice", CATALOGUE)
def test_every_key_has_a_folder_of_its_own_unless_it_leaves_the_weights_alone(choice: str):
    settings = composed(choice)
    own = RunFolder.of(settings).path
    folders = {key: RunFolder.of(variant).path for key, variant in variants(settings).items()}
    shared = {key for key, path in folders.items() if path == own}
    moved = {key for key, path in folders.items() if path.name == own.name} - shared
    neutral = {key for key in folders if key.startswith((*ASKED_AFTERWARDS, *NO_TRACE))}
    assert shared | moved == neutral | moved
    assert moved == {"outputs"}
    trained = [path for key, path in folders.items() if key not in neutral]
    assert len(set(trained)) == len(trained)


def test_no_two_choices_share_a_folder():
    settings = [composed(choice) for choice in CATALOGUE]
    for (a, left), (b, right) in combinations(zip(CATALOGUE, settings, strict=True), 2):
        if left != right:
            assert RunFolder.of(left).path != RunFolder.of(right).path, (a, b)


def test_folder_is_named_after_task_model_encoding_positions_and_seed(tmp_path: Path):
    settings = composed("task=copy", "model=decoder", "positions=random", "seed=3")
    path = RunFolder.of({**settings, "outputs": str(tmp_path)}).path
    task, setup, leaf = path.relative_to(tmp_path).parts
    assert (task, setup) == ("copy", "decoder-sinusoidal-random")
    assert leaf == f"seed3-{fingerprint(settings)}"


def test_fingerprint_is_that_of_the_configuration_whatever_the_seed_and_the_order_of_keys():
    backwards = dict(reversed(GIVEN.items())) | {"seed": 7}
    assert fingerprint(backwards) == fingerprint(GIVEN)


def test_evaluation_hash_changes_with_what_is_asked_alone():
    own = evaluation_hash(asked(GIVEN))
    changing = {
        key for key, variant in variants(GIVEN).items() if evaluation_hash(asked(variant)) != own
    }
    expected = {"eval.samples", "eval.lengths", "eval.second", "eval.seed", *ASKED_AFTERWARDS[1:]}
    assert changing == expected


def test_what_a_later_evaluation_tries_out_is_asked_too():
    scaled = composed("encoding=yarn")
    trained = flat(shaping(scaled))
    factors = [None, 2.0, 3.0]
    given = [{**scaled, "encoding": {**scaled["encoding"], "factor_at_eval": f}} for f in factors]
    plain, *others = (asked(settings, trained) for settings in given)
    assert plain == asked(scaled)
    assert others == [plain | {"encoding.factor_at_eval": factor} for factor in factors[1:]]
    assert asked({**scaled, "seed": 7, "threads": 2}, trained) == plain


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def test_folder_is_locked_for_one_at_a_time_and_free_again_afterwards(folder: RunFolder):
    elsewhere = get_context("spawn")

    def lock_again() -> int | None:
        process = elsewhere.Process(target=_lock, args=[folder])
        process.start()
        process.join()
        return process.exitcode

    with folder.locked():
        assert lock_again() == REFUSED
    assert lock_again() == 0


def _lock(folder: RunFolder) -> None:
    try:
        with folder.locked():
            pass
    except ConfigError as error:
        sys.exit(REFUSED if "going on right now" in str(error) else 1)


def test_clearing_leaves_nothing_but_the_lock(folder: RunFolder):
    with folder.locked():
        folder.write("config.yaml", "a: 1")
        folder.checkpoint.parent.mkdir()
        folder.checkpoint.touch()
        folder.clear()
        assert [path.name for path in folder.path.iterdir()] == [".lock"]


def test_file_stays_whole_when_writing_its_successor_fails(folder: RunFolder):
    folder.write("lengths.csv", "whole")
    with pytest.raises(UnicodeEncodeError):
        folder.write("lengths.csv", "half \ud800")
    assert (folder.path / "lengths.csv").read_text() == "whole"


def test_status_keeps_what_is_not_changed(folder: RunFolder):
    assert folder.status() == {}
    folder.write_status(status="running", host="here")
    folder.write_status(status="finished")
    assert folder.status() == {"schema": 2, "status": "finished", "host": "here"}


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"schema": 1}', b"\xff", None])
def test_unreadable_status_is_refused_by_its_path(folder: RunFolder, content: bytes | None):
    path = folder.path / "run.json"
    folder.path.mkdir()
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"run\.json"):
        folder.status()


@pytest.mark.parametrize("seen", [[1], 1, {"5": "x"}, {"x": 1.0}])
def test_damaged_shares_are_refused_by_their_path(folder: RunFolder, seen: Any):
    folder.write_status(evaluations={"lengths.csv": {"seen_in_training": seen}})
    with pytest.raises(ConfigError, match=r"run\.json: evaluations="):
        folder.seen_in_training("lengths.csv")


ROW = dict.fromkeys(COLUMNS, "x") | {
    "seed": 0, "train_max": 20, "length": 25, "in_range": False, "n": 16, "exact": 1 / 3,
    "token_accuracy": 0.1 + 0.2, "loss": 1e-9, "chance": 0.5, "token_chance": 0.5, "draws": 1,
    "eval_seed": 0,
}  # fmt: skip


def test_rows_come_back_as_they_were(folder: RunFolder):
    rows = [ROW, {**ROW, "length": 5, "in_range": True, "loss": float("nan")}]
    folder.write_rows("lengths.csv", rows)
    assert repr(folder.read_rows("lengths.csv")) == repr(rows)
    assert folder.read_rows("lengths-0.csv") == []


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[:-30], "a row lacks "),
        (lambda text: text.replace(",exact,", ",inexact,"), "a row lacks exact"),
        (lambda text: text.replace(",25,", ",many,"), "'many'"),
        (lambda text: text.replace(f"{1 / 3}", "1.5"), "exact match of 1.5"),
        (lambda text: text.splitlines()[0], "no row"),
        (lambda text: "", "no row"),
        (lambda text: text.replace("x", "\xff"), "utf-8"),
    ],
)
def test_damaged_rows_are_refused_by_their_path(
    folder: RunFolder, damage: Callable[[str], str], reason: str
):
    folder.write_rows("lengths.csv", [ROW])
    path = folder.path / "lengths.csv"
    path.write_text(damage(path.read_text()), encoding="latin-1")
    with pytest.raises(ConfigError, match=rf"lengths\.csv is damaged .*{reason}.*delete it"):
        folder.read_rows("lengths.csv")


def test_first_evaluation_has_the_plain_name_and_others_carry_their_hash(folder: RunFolder):
    longer = copy.deepcopy(GIVEN)
    longer["length"]["test"] = 200
    assert folder.rows_name(GIVEN) == "lengths.csv"
    folder.begin(GIVEN)
    folder.write_evaluation("lengths.csv", GIVEN, {5: 1.0})
    assert folder.rows_name(GIVEN) == "lengths.csv"
    assert folder.rows_name(longer) == f"lengths-{evaluation_hash(asked(longer))}.csv"
    assert folder.seen_in_training("lengths.csv") == {5: 1.0}
