"""What a run asks of a logger, and the one that needs nothing but this project.

All loggers get the same figures. What stands over steps comes while training goes on; what stands
over lengths or places, and what the run came to, when it is over.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytorch_lightning.loggers.logger import Logger

from posenc.errors import ConfigError
from posenc.results.details import MEASURED
from posenc.results.records import RunFolder, csv_text

Settings = Mapping[str, Any]
Figures = Mapping[str, float]

STEPS = ("train", "probe")
"""What stands over steps begins with one of these and a slash."""

CURVES = {
    "length_generalization": ("length", ("exact", "token_accuracy")),
    "test": ("length", ("loss", "chance")),
    "place": ("place", MEASURED),
}
"""What does not stand over steps: the axis that it stands over, and the columns that are drawn."""


class RunLog(Logger):
    """A logger of Lightning that also takes what stands over something else than steps."""

    def log_along(self, axis: str, place: int, figures: Figures) -> None:
        """Figures at a `place` on an axis of CURVES, which is drawn as if it were that of steps."""
        self.log_metrics(dict(figures), place)

    def conclude(self, settings: Settings, final: Figures) -> None:
        """What the run came to, with the hyper-parameters where they were not known before."""
        self.log_metrics(dict(final), 0)

    def close(self, ended: str) -> None:
        """The run is over; `ended` is "finished", "failed" or "interrupted"."""


def publish_metrics(
    log: RunLog,
    rows: Sequence[Mapping[str, Any]],
    *,
    bits: Sequence[Mapping[str, Any]],
    settings: Settings,
    final: Figures,
) -> None:
    """Curves from rows of lengths.csv and of bits.csv, and settings with final figures."""
    for prefix, (axis, names) in CURVES.items():
        for row in rows if axis == "length" else bits:
            figures = {f"{prefix}/{name}": float(row[name]) for name in names}
            log.log_along(axis, int(row[axis]), figures)
    log.conclude(settings, final)
    log.save()


class TableLog(RunLog):
    """metrics.csv in the run folder: a line for each figure, with its step, length or place.

    Lightning's CSVLogger deletes what is there when a run is resumed, and rewrites its file in
    place whenever a column is added. Here lines are only added, at checkpoints and at the end. What
    a run that is taken up again will log again is dropped: steps after `resumed_at`, which is None
    where training is over, and all that does not stand over steps.
    """

    COLUMNS = ("metric", "step", "value")

    def __init__(self, folder: RunFolder, *, resumed_at: int | None) -> None:
        super().__init__()
        self._path = folder.path / "metrics.csv"
        self._new: list[dict[str, Any]] = []
        last = math.inf if resumed_at is None else resumed_at
        self.kept = [
            row
            for row in (self._rows() if self._path.exists() else [])
            if row["metric"].startswith(STEPS) and row["step"] <= last
        ]
        """The lines that were there before."""
        folder.write(self._path.name, csv_text(self.COLUMNS, self.kept))

    def _rows(self) -> list[dict[str, Any]]:
        *lines, _ = self._path.read_text(encoding="utf-8").split("\n")  # the last one may be torn
        rows = csv.DictReader(lines)
        try:
            return [
                {"metric": row["metric"], "step": int(row["step"]), "value": float(row["value"])}
                for row in rows
            ]
        except (KeyError, TypeError, ValueError):
            raise ConfigError(
                f"{self._path}, line {rows.line_num}: no metric, step and value; mend or delete it"
            ) from None

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def version(self) -> str:
        return ""

    def log_metrics(self, metrics: Figures, step: int | None = None) -> None:
        """Keeps them until they are saved."""
        self._new += [{"metric": key, "step": step, "value": metrics[key]} for key in metrics]

    def log_hyperparams(self, *_: Any) -> None:
        """config.yaml beside it has them all."""

    def save(self) -> None:
        """Adds what is new in one go."""
        _, _, lines = csv_text(self.COLUMNS, self._new).partition("\n")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(lines)
        self._new.clear()

    def close(self, ended: str) -> None:
        """Saves; the last figures of a run that failed may tell why."""
        self.save()
