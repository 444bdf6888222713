"""Every logger gets the same figures, each of them once, also where a run broke off on its way."""

import csv
import os
import signal
import sqlite3
import struct
import time
from collections import defaultdict
from importlib import import_module

import pytest
from command_line import TINY, only_run, run, runs, started, wait_until
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from posenc.choosing import choices
from posenc.errors import ConfigError, Interrupted, RunFailed
from posenc.training import loggers
from posenc.training.runlog import TableLog

SETTINGS = (
    "trainer.accumulate_grad_batches=2", "trainer.log_every_n_steps=3", "eval.probe_every=5",
    "eval.probe_samples=4", "eval.probe_lengths=[3,5]", "length.test=10", "eval.lengths=[2,5,10]",
)  # fmt: skip
HYPERPARAMETERS = {"task", "model", "encoding", "positions", "seed", "fingerprint", "lr"}


def crash():
    raise RuntimeError("the power went out")


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


def events(folder):
    found = EventAccumulator(str(folder.path), {"scalars": 0})
    found.Reload()
    for tag in found.Tags()["scalars"]:
        for event in found.Scalars(tag):
            yield tag, event.step, event.value


def table(folder):
    with (folder.path / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            yield row["metric"], int(row["step"]), float(row["value"])


def mlflow_rows(folder, query):
    with sqlite3.connect(folder.path.parents[2] / "mlflow.db") as store:
        return store.execute(query).fetchall()


def mlflow(folder):
    ((run_id,),) = mlflow_rows(folder, "select run_uuid from runs")
    return mlflow_rows(folder, f"select key, step, value from metrics where run_uuid = '{run_id}'")


def wandb_records(path):
    """What a file for `wandb sync` holds: records in a log of LevelDB's format."""
    record = import_module("wandb.proto.wandb_internal_pb2").Record
    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # no header fits into the rest of the block
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield record.FromString(whole)
            whole = b""


def wandb_run(folder):
    """The records of the only run, as soon as the process that writes them has written the last."""
    for _ in range(200):
        (file,) = (folder.path / "wandb").glob("offline-run-*/*.wandb")
        records = list(wandb_records(file))
        if any(record.HasField("exit") for record in records):
            return records
        time.sleep(0.05)
    raise AssertionError(f"{file} is not finished")


def wandb(folder):
    axes, final = {}, {}
    for record in wandb_run(folder):
        if record.HasField("metric"):
            axes[record.metric.glob_name] = record.metric.step_metric
        items = {"/".join(item.nested_key) or item.key: item for item in record.summary.update}
        final |= {key: item.value_json for key, item in items.items() if key.startswith("outcome/")}
        point = {
            "/".join(item.nested_key) or item.key: float(item.value_json)
            for item in record.history.item
        }
        for name in point:
            if (axis := axes.get(f"{name.partition('/')[0]}/*")) is not None:
                yield name, int(point[axis]), point[name]
    yield from ((name, 0, float(value)) for name, value in final.items())


READERS = {"csv": table, "wandb": wandb, "mlflow": mlflow}


def logged(name, folder):
    """Metric -> its steps with their values, in their order, speed apart."""
    found = defaultdict(list)
    for metric, step, value in READERS[name](folder):
        if "per_second" not in metric:
            found[metric].append((step, pytest.approx(value)))
    return {metric: sorted(points, key=lambda point: point[0]) for metric, points in found.items()}


def needed(name):
    for package in loggers.NEEDS.get(name, ()):
        pytest.importorskip(package)


@pytest.fixture(scope="module")
def shown(module_runs):
    """What TensorBoard shows of the unbroken run."""
    runs, _ = module_runs
    folder = runs(*SETTINGS, "logger=tensorboard", where="tensorboard")
    found = defaultdict(list)
    for tag, step, value in events(folder):
        if "per_second" not in tag:
            found[tag].append((step, value))
    return dict(found)


@pytest.fixture(scope="module", params=READERS)
def broken(request, module_runs):
    """The logger, and a run that broke eight steps after a checkpoint and was resumed."""
    needed(request.param)
    runs, at_batch = module_runs
    command = (*SETTINGS, f"logger={request.param}")
    at_batch(95, crash)
    with pytest.raises(RunFailed):
        runs(*command, where=request.param)
    time.sleep(1)  # wandb names folders by the second
    return request.param, runs(*command, where=request.param)


def test_every_choice_can_be_opened():
    assert {*loggers.MAKERS, "none"} == set(choices("logger"))


def test_all_get_what_tensorboard_gets(broken, shown):
    name, folder = broken
    found = logged(name, folder)
    assert found.keys() == shown.keys()
    for metric in shown:
        assert found[metric] == shown[metric], metric


def test_hyperparameters_go_along(broken):
    name, folder = broken
    if name == "mlflow":
        rows = mlflow_rows(folder, "select key, value from params")
        assert {key for key, _ in rows} >= HYPERPARAMETERS
        assert ("encoding", "sinusoidal") in rows
    if name == "wandb":
        (begun,) = [record.run for record in wandb_run(folder) if record.HasField("run")]
        assert {item.key for item in begun.config.update} >= HYPERPARAMETERS


def test_a_resumed_run_is_one_run(broken):
    name, folder = broken
    if name == "mlflow":
        assert [row[0] for row in mlflow_rows(folder, "select status from runs")] == ["FINISHED"]
    if name == "wandb":
        (begun,) = [record.run for record in wandb_run(folder) if record.HasField("run")]
        assert begun.run_id == folder.status()["logged_as"]["wandb"]
        assert begun.run_id.startswith(folder.path.name)


@pytest.mark.parametrize("name", READERS)
def test_an_interrupted_run_goes_on_and_one_done_afresh_is_another(name, runs, at_batch):
    needed(name)
    command = (*SETTINGS, f"logger={name}")
    at_batch(95, terminate)
    with pytest.raises(Interrupted):
        runs(*command)
    folder = runs.folder(runs.config(*command))
    if name == "mlflow":
        assert mlflow_rows(folder, "select status from runs") == [("KILLED",)]
    time.sleep(1)
    runs(*command)
    assert [step for step, _ in logged(name, folder)["train/loss"]] == list(range(3, 61, 3))
    time.sleep(1)
    runs(*command, "overwrite=true")
    if name == "mlflow":
        assert mlflow_rows(folder, "select status from runs") == [("FINISHED",)] * 2
    else:
        assert [step for step, _ in logged(name, folder)["train/loss"]] == list(range(3, 61, 3))


def test_settings_spelled_in_another_way_are_the_same_run(runs):
    needed("mlflow")
    config = runs.config("logger=mlflow")
    folder = runs.folder(config)
    for spelled in ("[learned,fire]", "[learned, fire]"):
        folder.write_status(status="running")
        settings = {"encoding.parts": spelled}
        with loggers.opened(config.logger, folder, resumed_at=0, settings=settings):
            pass
    assert mlflow_rows(folder, "select value from params") == [("[learned,fire]",)]


@pytest.mark.parametrize("name", READERS)
def test_a_run_that_is_repeated_logs_nothing(name, runs):
    needed(name)
    command = (*SETTINGS, f"logger={name}")
    before = logged(name, runs(*command))
    assert logged(name, runs(*command)) == before


@pytest.mark.parametrize("name", READERS)
def test_runs_of_one_process_keep_apart(name, runs):
    needed(name)
    for seed in (0, 1):
        folder = runs(*SETTINGS, f"logger={name}", f"seed={seed}", where=str(seed))
        assert len(logged(name, folder)["train/loss"]) == 20


@pytest.mark.parametrize("name", READERS)
def test_places_have_an_axis_of_their_own(name, runs):
    needed(name)
    folder = runs(
        "task=stream", "length.min=10", "length.train=10", "length.test=12", "eval.lengths=[12]",
        f"logger={name}",
    )  # fmt: skip
    places = [step for step, _ in logged(name, folder)["place/bits"]]
    assert places == list(range(len(places)))
    assert len(places) > 5


def test_a_killed_run_has_each_line_once(tmp_path):
    """Whatever was on its way to the disk, and wherever that ended."""
    command = (*TINY, "trainer.max_steps=300", "checkpoint.every=50", "logger=csv",
               "trainer.log_every_n_steps=10")  # fmt: skip
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert run(*command, f"outputs={straight}").code == 0
    with started(*command, f"outputs={killed}", cwd=tmp_path) as process:
        wait_until(lambda: list(killed.rglob("last.ckpt")), process)
        process.kill()
        process.wait()
    with (only_run(killed) / "metrics.csv").open("a") as file:
        file.write("train/loss,290,1.5\ntrain/loss,3")
    assert run(*command, f"outputs={killed}").code == 0

    def lines(outputs):
        text = (only_run(outputs) / "metrics.csv").read_text()
        return [line for line in text.splitlines() if "per_second" not in line]

    assert lines(killed) == lines(straight)


def test_a_table_without_steps_is_refused_by_its_line(tmp_path, runs):
    folder = runs.folder(runs.config())
    folder.write("metrics.csv", "metric,step,value\ntrain/loss,1,2.0\ntrain/loss,one,2.0\n")
    with pytest.raises(ConfigError, match=r"metrics\.csv, line 3: no metric, step and value"):
        TableLog(folder, resumed_at=1)


@pytest.mark.parametrize(("name", "package"), [("wandb", "wandb"), ("mlflow", "mlflow"),
                                               ("mlflow", "sqlalchemy")])  # fmt: skip
def test_a_missing_package_is_named_before_anything_is_written(
    name, package, tmp_path, monkeypatch
):
    there = type("Spec", (), {"origin": "somewhere"})
    monkeypatch.setattr(loggers, "find_spec", lambda asked: None if asked == package else there)
    ended = run(*TINY, f"logger={name}", f"outputs={tmp_path / 'outputs'}")
    assert ended.code == 2
    assert ended.err == (
        f"error: logger={name}: needs the package {package}; "
        f"pip install -c constraints.txt -e '.[{name}]'\n"
    )
    assert not (tmp_path / "outputs").exists()


def test_a_folder_of_that_name_is_no_package(tmp_path, monkeypatch):
    if loggers.find_spec("wandb") is not None:
        pytest.skip("the package is here")
    (tmp_path / "wandb").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="needs the package wandb"):
        loggers.check({"name": "wandb", "project": "posenc", "offline": True})


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["logger=wandb", "logger.project=5"], "logger.project=5: must be of type str"),
        (["logger=wandb", "logger.offline=1"], "logger.offline=1: must be of type bool"),
        (["logger=csv", "+logger.project=a"], "logger.project: no such key"),
        (["logger=tb"], "logger=tb: choose one of csv, mlflow, none, tensorboard, wandb"),
    ],
)
def test_wrong_settings_are_refused(settings, line, tmp_path):
    ended = run(*TINY[:-1], *settings, f"outputs={tmp_path}")
    assert ended.code == 2
    assert line in ended.err
    assert not runs(tmp_path)


@pytest.mark.parametrize("uri", ["mlruns", "file:///tmp/mlruns", "5"])
def test_a_store_must_be_a_server_or_a_file(uri, tmp_path, monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda asked: None)  # told without the package, too
    ended = run(*TINY, "logger=mlflow", f"logger.tracking_uri={uri}", f"outputs={tmp_path}")
    assert ended.code == 2
    assert f"logger.tracking_uri={uri}: name a server" in ended.err
    assert not runs(tmp_path)


def test_a_run_stays_finished_when_its_end_cannot_be_logged(runs, monkeypatch, caplog):
    monkeypatch.setattr("posenc.run.publish", lambda *_, **__: crash())
    folder = runs(*SETTINGS, "logger=csv")
    assert folder.status()["status"] == "finished"
    assert "csv lacks the end of this run" in caplog.text
    monkeypatch.undo()
    runs(*SETTINGS, "logger=csv")
    assert [step for step, _ in logged("csv", folder)["length_generalization/exact"]] == [2, 5, 10]
