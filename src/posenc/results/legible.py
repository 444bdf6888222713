"""A report in Markdown as a terminal shows it, with narrow tables that cut no number."""

from collections.abc import Iterator
from typing import ClassVar

from rich.console import Console, ConsoleOptions
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Table
from rich.text import Text


class _NarrowTable(TableElement):
    """One blank between columns, heads word by word, and breaks only where a cell has blanks."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            table.box, table.padding, table.pad_edge = None, (0, 1, 0, 0), False
            for column in table.columns:
                head = str(column.header).replace(" ", "\n")
                column.header = Text(head, justify=column.justify)
                column.no_wrap = not any(" " in str(cell) for cell in column.cells)
                column.overflow = "fold"
            yield table


class Legible(Markdown):
    """Markdown for a console; 90 columns show a table of five lengths without breaking words."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "table_open": _NarrowTable,
    }
