"""What a sweep is going to do: which jobs are done, which cannot work, and which are to come."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf, open_dict

from posenc.choosing import PROJECT
from posenc.errors import ConfigError
from posenc.explaining import explain
from posenc.results.identity import asked, evaluation_hash, identity
from posenc.results.labels import label
from posenc.results.records import RunFolder
from posenc.results.sweeps import Entry
from posenc.schema import RANGES, Config, load

if TYPE_CHECKING:
    from posenc.results.expected import Claim

Job = Sequence[str]
"""The overrides of one job."""

SEED = re.compile(r"seed=([0-9]+)")
LARGEST_SEED = RANGES["seed"][1]
EXPERIMENTS = PROJECT / "experiments"
FIXED = ("launcher", "sweeper", "experiment", "outputs")
"""Keys of which a sweep can have one value only."""


def plan(
    jobs: Sequence[Job], compose: Callable[[list[str]], DictConfig]
) -> tuple[list[list[Entry]], list[Entry]]:
    """What to launch, one list after the other, and what is done or cannot work.

    Jobs of one run folder, which differ in what they ask of it, stand in different lists. What is
    named twice is in none of them a second time. Says on stderr which claims stay open.
    """
    for key in FIXED:
        given = {each for job in jobs for each in job if each.lstrip("+").startswith(f"{key}=")}
        if len(given) > 1:
            raise ConfigError(
                f"{' '.join(sorted(given))}: one sweep can have one {key}; run another"
            )
    claims = _claims(jobs[0])
    common = set.intersection(*(set(job) for job in jobs))
    rounds: list[list[Entry]] = []
    others: list[Entry] = []
    visits: dict[Path, int] = {}
    known: set[tuple[Path, str]] = set()
    met: set[tuple[str, str, str]] = set()
    settings = _settings(compose)
    for job in jobs:
        told = " ".join(each for each in job if each not in common)
        entry: Entry = {"overrides": list(job), "label": told, "folder": None, "reason": None}
        try:
            config = settings(job)
            own = asdict(config)
            folder = RunFolder.of(own)
        except ConfigError as error:
            others.append(entry | {"state": "error", "reason": explain(error)})
            continue
        entry["folder"] = str(folder.path)
        if claims:
            run = identity(own)
            met.add((run["task"], run["model"], label(run["encoding"], run["positions"])))
        wanted = (folder.path, evaluation_hash(asked(own)))
        if wanted in known:
            continue
        known.add(wanted)
        if _is_done(folder, config):
            rows = folder.rows_name(own)
            others.append(entry | {"state": "done", "rows": rows})
            continue
        visit = visits[folder.path] = visits.get(folder.path, -1) + 1
        if visit == len(rounds):
            rounds.append([])
        if visit > 0 and config.overwrite:
            entry["overrides"].append("overwrite=false")  # or it would discard what came before
        resumes = folder.checkpoint.exists() and not config.overwrite
        rounds[visit].append(entry | {"state": "todo", "resumes": resumes})
    _tell_unmet(claims, met)
    return rounds, others


def _claims(job: Job) -> Sequence["Claim"]:
    """Those of the study that it belongs to, if any. Raises ConfigError where they are none."""
    for each in job:
        key, _, name = each.partition("=")
        if key == "experiment" and (EXPERIMENTS / name).is_dir():
            from posenc.results.expected import EXPECTED, read_claims  # takes a moment

            if (EXPERIMENTS / name / EXPECTED).exists():
                return read_claims(EXPERIMENTS / name / EXPECTED)
    return []


def _tell_unmet(claims: Sequence["Claim"], met: set[tuple[str, str, str]]) -> None:
    """Says which claims these runs will not decide: they are narrowed, or a name is wrong."""
    unmet = []
    for claim in claims:
        for name in claim.statement.labels:
            if (claim.task, claim.model, name.partition(" [")[0]) not in met:
                unmet.append(f"{claim.statement.text} ({claim.task}, {claim.model}: no {name})")
                break
    if unmet:
        more = f" and {len(unmet) - 1} more" * (len(unmet) > 1)
        print(f"not decided by these runs: {unmet[0]}{more}", file=sys.stderr)


def _settings(compose: Callable[[list[str]], DictConfig]) -> Callable[[Job], Config]:
    """The settings of a job; jobs that differ in their seed alone are composed once, which takes
    far longer than all the rest, unless another setting follows the seed."""

    @cache
    def composed(job: Job) -> tuple[Config, bool]:
        raw = compose(list(job))
        with open_dict(raw):
            del raw["hydra"]
        return load(raw), "{seed}" in OmegaConf.to_yaml(raw)

    def of(job: Job) -> Config:
        seeds = [int(found[1]) for each in job if (found := SEED.fullmatch(each))]
        config, follows = composed(tuple(each for each in job if not SEED.fullmatch(each)))
        if follows or any(seed > LARGEST_SEED for seed in seeds):
            return composed(tuple(job))[0]
        return replace(config, seed=seeds[-1]) if seeds else config

    return of


def _is_done(folder: RunFolder, config: Config) -> bool:
    """Whether a run has all that is asked for; one that cannot be read will tell in its job."""
    try:
        status = folder.status()
        rows = folder.read_rows(folder.rows_name(asdict(config)))
    except ConfigError:
        return False
    told = status.get("published") or config.logger["name"] == "none"
    return status.get("status") == "finished" and bool(told and rows) and not config.overwrite
