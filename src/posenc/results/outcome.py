"""What one run came to, in single numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posenc.results import statistics
from posenc.results.records import RunFolder

Row = dict[str, Any]

LESS_IS_BETTER = ("parameters", "train_seconds")
OBJECTIVES = ("score", "in_range", "holds_to", *LESS_IS_BETTER)
"""What a sweeper can look for: properties of a Result."""


@dataclass(frozen=True)
class Result:
    """A finished run, and the file of rows that answers what was asked."""

    folder: RunFolder
    file: str
    rows: Sequence[Row]

    @classmethod
    def read(cls, folder: RunFolder, file: str) -> "Result":
        """Raises ConfigError where the file is damaged."""
        return cls(folder, file, sorted(folder.read_rows(file), key=lambda row: row["length"]))

    @property
    def score(self) -> float | None:
        """Exact match averaged over the lengths beyond the trained ones; None: none was tested."""
        return statistics.score(self._lengths, self._exact, self.rows[0]["train_max"])

    @property
    def in_range(self) -> float | None:
        """The same over the trained lengths."""
        return statistics.trained_mean(self._exact, [row["in_range"] for row in self.rows])

    @property
    def fitted(self) -> bool:
        """Whether it learned the trained lengths, without which the others say nothing."""
        return statistics.fitted(self._exact, [row["in_range"] for row in self.rows])

    @property
    def holds_to(self) -> int:
        """The length up to which exact match is high enough; 0: it never is."""
        return statistics.holds_to(self._lengths, self._exact) or 0

    @property
    def parameters(self) -> int | None:
        """Numbers that were trained."""
        return self.folder.status().get("parameters")

    @property
    def train_seconds(self) -> float | None:
        """What training took in the last process that took part."""
        return self.folder.status().get("train_seconds")

    @property
    def _lengths(self) -> list[int]:
        return [row["length"] for row in self.rows]

    @property
    def _exact(self) -> list[float]:
        return [row["exact"] for row in self.rows]
