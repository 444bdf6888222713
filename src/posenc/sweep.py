"""What became of each job of a sweep, also of those that never got as far as a run folder."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

JOURNAL = "jobs.jsonl"
_folder: Path | None = None


class Journal(Callback):
    """Appends a line for every finished job to jobs.jsonl in the sweep's folder."""

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Remembers the sweep that this process conducts."""
        global _folder
        _folder = Path(config.hydra.sweep.dir)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Runs wherever the job ran, which may be another process."""
        if config.hydra.mode != RunMode.MULTIRUN:
            return
        failed = job_return.status == JobStatus.FAILED
        entry = {
            "job": config.hydra.job.num,
            "overrides": list(config.hydra.overrides.task),
            "error": str(job_return._return_value) if failed else None,
        }
        with (Path(config.hydra.sweep.dir) / JOURNAL).open("a") as file:
            file.write(json.dumps(entry) + os.linesep)


def summarise(*, stopped: bool = False) -> None:
    """Prints how the sweep of this process, if any, ended, and each failure with its reason."""
    if _folder is None:
        return
    journal = _folder / JOURNAL
    lines = journal.read_text().splitlines() if journal.exists() else []
    jobs = sorted(map(json.loads, lines), key=_number)
    failures = [job for job in jobs if job["error"] is not None]
    finished = len(jobs) - len(failures)
    if stopped:
        end = f"stopped: {finished} jobs had finished; the same command does the rest"
    else:
        end = f"{finished} of {len(jobs)} jobs finished; scripts/report.py compares them"
    print(f"\n{end}", file=sys.stderr)
    for job in failures:
        print(f"  #{job['job']} {' '.join(job['overrides'])}: {job['error']}", file=sys.stderr)


def _number(job: dict[str, Any]) -> int:
    return int(job["job"])
