"""Optuna proposes settings, a study is continued to its budget, and failures are told."""

import shutil
import sqlite3
import warnings
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import TINY, Ended, run, runs, status
from omegaconf import OmegaConf

from posenc.choosing import CONFIGS

if find_spec("optuna") is None:
    pytest.skip("needs the extra [tune]", allow_module_level=True)
with warnings.catch_warnings(action="ignore"):  # it is as old as the sweeper of Hydra
    import optuna

pytestmark = pytest.mark.filterwarnings("ignore:::(optuna|hydra_plugins|sqlalchemy)")

SMALL = tuple(each for each in TINY if not each.startswith("model.width"))


@pytest.fixture
def tune(tmp_path: Path):
    def command(*arguments: str) -> Ended:
        return run(*SMALL, f"outputs={tmp_path}", "experiment=tune", *arguments)

    return command


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs with a study of one trial, whose name is one."""
    outputs = tmp_path_factory.mktemp("outputs")
    assert _one(outputs).code == 0
    return outputs


def _one(outputs: Path, *arguments: str) -> Ended:
    own = (f"outputs={outputs}", "sweeper.study=one", "sweeper.trials=1", "encoding=none")
    return run(*SMALL, "experiment=tune", *own, *arguments)


def trials(outputs: Path, study: str) -> list:
    return optuna.load_study(study_name=study, storage=f"sqlite:///{outputs}/studies.db").trials


def test_study_is_continued_to_its_budget_and_no_further(tune, tmp_path: Path):
    assert tune("encoding=rope", "sweeper.trials=2").code == 0
    assert tune("encoding=rope", "sweeper.trials=4").code == 0
    again = tune("encoding=rope", "sweeper.trials=4")
    assert again.code == 0
    assert "4 of 4 trials done already, 0 to do" in again.err
    assert again.out.startswith("best of study who_bit_whom-encoder-rope-index: ")
    assert tune("encoding=alibi", "sweeper.trials=1").code == 0
    found = trials(tmp_path, "who_bit_whom-encoder-rope-index")
    assert len(found) == len({trial.params["optimizer.lr"] for trial in found}) == 4
    space = OmegaConf.load(CONFIGS / "experiment" / "tune.yaml").hydra.sweeper.params
    assert all(trial.params.keys() == set(space) for trial in found)
    assert len(trials(tmp_path, "who_bit_whom-encoder-alibi-index")) == 1
    assert len(runs(tmp_path)) == 5


def test_value_of_a_trial_is_the_score_of_its_run(tune, tmp_path: Path):
    ended = tune("encoding=rope", "sweeper.trials=2", "model.width=16")
    scores = [float(line.split("score ")[1].split(",")[0]) for line in ended.err.splitlines()
              if "score " in line]  # fmt: skip
    values = [trial.value for trial in trials(tmp_path, "who_bit_whom-encoder-rope-index")]
    assert values == pytest.approx(scores, abs=5e-4)
    rows = [line.split()[0] for line in ended.out.splitlines() if "optimizer.lr" in line]
    best = max(range(2), key=values.__getitem__)
    found = trials(tmp_path, "who_bit_whom-encoder-rope-index")[best].params["optimizer.lr"]
    assert rows[0] == f"optimizer.lr={found:.4g}"
    said = f"best of study who_bit_whom-encoder-rope-index: {rows[0]}: score {max(values):.4g}"
    assert said in ended.out.splitlines()


def test_several_objectives(tune, tmp_path: Path):
    wanted = "sweeper.objectives=[in_range,parameters]"
    assert tune("encoding=rope", "sweeper.trials=2", wanted).code == 0
    for trial in trials(tmp_path, "who_bit_whom-encoder-rope-index"):
        assert len(trial.values) == 2
    parameters = sorted(status(folder)["parameters"] for folder in runs(tmp_path))
    found = trials(tmp_path, "who_bit_whom-encoder-rope-index")
    assert sorted(trial.values[1] for trial in found) == parameters


def test_failed_trial_ends_no_study_and_is_told(tune, tmp_path: Path):
    ended = tune("encoding=rope", "sweeper.trials=2", "model.width=15,17", "optimizer.lr=0.001")
    assert ended.code == 1
    assert "error: " in ended.err.splitlines()[-1]
    assert "2 of 2 runs failed; the same command proposes others" in ended.err
    assert "Error executing job" not in ended.err
    assert "HYDRA" not in ended.out + ended.err


@pytest.mark.parametrize(
    ("given", "was"),
    [
        ("optimizer.warmup=0.3", "optimizer.warmup=0.05"),
        ("model.width=16", "model.width=32,64,128"),
        ("optimizer.lr=0.001", "optimizer.lr=tag(log,interval(0.0001,0.01))"),
        ("optimizer.lr=interval(0.0001,0.01)", "optimizer.lr=tag(log,interval(0.0001,0.01))"),
        ("seed=3", "seed=0"),
        ("sweeper.objectives=[in_range]", "sweeper.objectives=[score]"),
        ("sweeper.objectives=[score,parameters]", "sweeper.objectives=[score]"),
    ],
)
def test_trials_of_other_settings_are_refused(begun: Path, given: str, was: str):
    ended = _one(begun, given)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line == (
        f"error: {given}: study one was begun with {was}; name another study, sweeper.study=NAME"
    )


def test_what_changes_no_row_may_differ(begun: Path):
    ended = _one(begun, "checkpoint.every=3", "eval.probe_every=2", "logger=csv")
    assert ended.code == 0
    assert "1 of 1 trials done already" in ended.err


def test_study_without_settings_is_continued_with_a_note(begun: Path, tmp_path: Path):
    shutil.copy(begun / "studies.db", tmp_path)
    with closing(sqlite3.connect(tmp_path / "studies.db")) as database, database:
        database.execute("DELETE FROM study_user_attributes")
    ended = _one(tmp_path, "optimizer.warmup=0.3")
    assert ended.code == 0
    assert ended.err.startswith("study one is of a version that kept no settings: ")
    ended = _one(tmp_path, "sweeper.objectives=[parameters]")
    assert ended.code == 2
    assert ended.err.startswith("error: sweeper.objectives=[parameters]: study one is to maximize;")


def test_study_of_several_encodings_is_named_after_none(tune, tmp_path: Path):
    ended = tune("encoding=rope,alibi")
    assert ended.code == 2
    assert ended.err.startswith("error: encoding=rope,alibi: the study is named after its encoding")
    assert list(tmp_path.iterdir()) == []
    assert tune("encoding=rope,alibi", "sweeper.study=both", "sweeper.trials=1").code == 0
    ended = tune("encoding=none", "sweeper.study=both", "sweeper.trials=1")
    assert ended.err.startswith("error: encoding=none: study both was begun with encoding=rope,")


def test_nothing_to_tune_is_refused(tmp_path: Path):
    ended = run("-m", *TINY, f"outputs={tmp_path}", "sweeper=optuna", "encoding=rope")
    assert ended.code == 2
    assert ended.err.startswith("error: sweeper=optuna: nothing to tune; give an interval")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("sweeper.objectives=[speed]", "choose one of score, in_range"),
        ("sweeper.objectives=[]", "sweeper.objectives"),
        ("sweeper.objectives=score", "sweeper.objectives=score: must be of type list"),
        ("sweeper.trials=0", "sweeper.trials=0: must be a whole number"),
        ("sweeper.trials=abc", "sweeper.trials=abc: must be of type int"),
        ("sweeper.study=", "sweeper.study=: is empty"),
        ("sweeper.storage=foo", "sweeper.storage=foo: "),
        ("length.test=20", "length.test=20"),
    ],
)
def test_study_that_cannot_work_begins_no_run(tune, given: str, told: str, tmp_path: Path):
    ended = tune("encoding=rope", given)
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    assert told in line
    assert runs(tmp_path) == []
