"""Weights & Biases and MLflow, whose packages are imported only where they are chosen.

A run has one id in such a service, which its run.json keeps: a resumed run goes on in it, one that
is trained afresh (`overwrite=true`) has a new one.
"""

import fcntl
import logging
import os
import shutil
from itertools import groupby
from operator import itemgetter
from secrets import token_hex
from typing import Any

from pytorch_lightning.loggers import MLFlowLogger, WandbLogger

from posenc.errors import ConfigError
from posenc.results.records import RunFolder
from posenc.training.runlog import CURVES, STEPS, Figures, RunLog, Settings, TableLog


class WandbLog(RunLog, WandbLogger):
    """A run of Weights & Biases, where no step can go back: every curve names its own axis.

    A `table` keeps what an offline run was given: its file cannot be added to, and lacks the last
    minutes of a process that was killed.
    """

    def __init__(self, run: Any, table: TableLog | None) -> None:
        super().__init__(experiment=run)
        self._table = table
        if table is not None:
            for step, rows in groupby(table.kept, itemgetter("step")):
                super().log_metrics({row["metric"]: row["value"] for row in rows}, step)

    def log_metrics(self, metrics: Figures, step: int | None = None) -> None:
        super().log_metrics(metrics, step)
        if self._table is not None:
            self._table.log_metrics(metrics, step)

    def save(self) -> None:
        if self._table is not None:
            self._table.save()

    def log_along(self, axis: str, place: int, figures: Figures) -> None:
        self.experiment.log({axis: place, **figures})

    def conclude(self, settings: Settings, final: Figures) -> None:
        """Into the summary, from which tables of runs are made."""
        self.experiment.summary.update(dict(final))

    def close(self, ended: str) -> None:
        """Without this the next run of the process would go on in it."""
        self.save()
        self.experiment.finish(exit_code=0 if ended == "finished" else 1)


def wandb_log(
    choice: Settings, folder: RunFolder, resumed_at: int | None, settings: Settings
) -> WandbLog:
    """Begins a run, or takes it up again: an offline one as a whole, in place of what was there."""
    offline = choice["offline"]
    if offline:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # which is a matter of the net
    import wandb

    table = TableLog(folder, resumed_at=resumed_at) if offline else None
    own = _known_as(folder, "wandb") or f"{folder.path.name}-{token_hex(4)}"
    for earlier in (folder.path / "wandb").glob(f"offline-run-*-{own}") if offline else ():
        shutil.rmtree(earlier)
    try:
        run = wandb.init(
            id=own,
            project=choice["project"],
            name=_name(folder),
            dir=folder.path,
            config=dict(settings),
            mode="offline" if offline else "online",
            resume="allow",
            settings=wandb.Settings(silent=offline, console="off"),
        )
    except wandb.Error as error:
        raise ConfigError(f"logger=wandb: {_first_line(error)}") from None
    _remember(folder, "wandb", own)
    for prefix in STEPS:
        run.define_metric(f"{prefix}/*", step_metric="trainer/global_step")  # Lightning logs it
    for prefix, (axis, _) in CURVES.items():
        run.define_metric(f"{prefix}/*", step_metric=axis)
    return WandbLog(run, table)


class MlflowLog(RunLog, MLFlowLogger):
    """A run of MLflow. What it holds already, after a crash, is not logged a second time."""

    def __init__(self, *, tracking_uri: str, run_id: str) -> None:
        super().__init__(tracking_uri=tracking_uri, run_id=run_id)
        self._logged: dict[str, int] = {}
        """Metric -> its last step."""

    def log_metrics(self, metrics: Figures, step: int | None = None) -> None:
        step = step or 0
        for key in metrics.keys() - self._logged.keys():
            history = self.experiment.get_metric_history(self.run_id, key)
            self._logged[key] = max((metric.step for metric in history), default=-1)
        new = {key: metrics[key] for key in metrics if step > self._logged[key]}
        if new:
            super().log_metrics(new, step)
            self._logged |= dict.fromkeys(new, step)

    def finalize(self, status: str = "success") -> None:
        """Nothing yet: Lightning calls it at the end of the fit, and the run goes on."""

    def close(self, ended: str) -> None:
        words = {"finished": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
        self.experiment.set_terminated(self.run_id, words[ended])


def mlflow_log(
    choice: Settings, folder: RunFolder, resumed_at: int | None, settings: Settings
) -> MlflowLog:
    """Begins a run in the store that the choice names, or takes it up again."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    for talkative in ("mlflow", "alembic"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    outputs = folder.path.parents[2]
    uri = choice["tracking_uri"] or f"sqlite:///{outputs / 'mlflow.db'}"
    artifacts = None if choice["tracking_uri"] else (outputs / "mlartifacts").as_uri()
    try:
        # Two processes that make the tables of one file at the same time leave it broken.
        with (outputs / ".mlflow.lock").open("w") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            client = MlflowClient(uri)
            experiment = client.get_experiment_by_name(choice["experiment"])
            own = (
                client.create_experiment(choice["experiment"], artifact_location=artifacts)
                if experiment is None
                else experiment.experiment_id
            )
        run_id = _run_id(client, own, folder)
        log = MlflowLog(tracking_uri=uri, run_id=run_id)
        there = client.get_run(run_id).data.params  # which cannot be written in another way
        log.log_hyperparams({key: settings[key] for key in settings.keys() - there.keys()})
    except MlflowException as error:
        raise ConfigError(f"logger=mlflow: {_first_line(error)}") from None
    return log


def _run_id(client: Any, experiment: str, folder: RunFolder) -> str:
    """The run of the folder in this experiment, begun where there is none."""
    known = _known_as(folder, "mlflow")
    there = client.search_runs([experiment], f"attributes.run_id = '{known}'") if known else []
    if there:
        client.update_run(known, status="RUNNING")
        return str(known)
    new = client.create_run(experiment, run_name=_name(folder)).info.run_id
    _remember(folder, "mlflow", new)
    return str(new)


def _name(folder: RunFolder) -> str:
    """What a person sees: task, setup, seed and fingerprint."""
    return "/".join(folder.path.parts[-3:])


def _known_as(folder: RunFolder, service: str) -> str | None:
    name = folder.status().get("logged_as", {}).get(service)
    return None if name is None else str(name)


def _remember(folder: RunFolder, service: str, name: str) -> None:
    known = folder.status().get("logged_as", {})
    folder.write_status(logged_as={**known, service: name})


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
