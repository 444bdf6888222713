"""What a report says, before it is written as Markdown or as HTML."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from posenc.results.panels import Panel


class Cell(NamedTuple):
    """What a table shows, and the number or name by which it is sorted, where that is another."""

    text: str
    value: float | None = None
    link: Path | None = None
    """A run folder."""


@dataclass(frozen=True)
class Table:
    """Rows of cells; in every column numbers stand to the right, unless it is one of `words`."""

    title: str
    head: list[str]
    rows: list[list[Cell]]
    words: tuple[int, ...] = (0,)
    foot: list[list[Cell]] = field(default_factory=list)
    """Rows that stay at the end however the table is sorted."""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A heading with a verdict, sentence by sentence, and tables; of a panel, or of several."""

    title: str
    verdict: list[str]
    tables: list[Table]
    panel: Panel | None = None


@dataclass(frozen=True)
class Document:
    """Sections, best read in their order, and appendices: what was left out, every run."""

    summary: str
    """How many runs, of how many encodings and tasks."""
    metric: str
    """What pictures show first."""
    sections: list[Section]
    appendices: list[Section]
    reading: list[str]
    """How to read the numbers, a paragraph each."""
