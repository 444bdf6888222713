"""What one run found, as a table for the terminal."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from posenc.results import statistics
from posenc.results.labels import MASK_TELLS_ORDER, MISSING, label, mask_tells_order

Row = Mapping[str, Any]

WIDEST = 200
"""More columns than any table takes."""

ADDRESS = "http://localhost:6006/?smoothing=0&runColorGroup=regex:(.*)/seed"
"""TensorBoard with its curves unbent, and one colour for the seeds of a setup."""

FEW = 3
"""A score that rests on fewer lengths beyond the trained ones says so."""


def print_run(
    rows: Sequence[Row],
    *,
    folder: Path,
    outputs: Path,
    seen: Mapping[int, float],
    console: Console | None = None,
) -> None:
    """Prints the rows of one lengths.csv, what they come to, and where the run can be looked at.

    `seen` is the share of test prompts, by length, that training had met.
    """
    console = console or Console(highlight=False)
    rows = sorted(rows, key=lambda row: row["length"])
    many_tokens = _many_tokens(rows)
    console.print()
    table = _table(rows, many_tokens)
    table.width = console.measure(table, options=console.options.update(width=WIDEST)).maximum
    console.print(table, crop=False)  # a narrow terminal breaks lines, and cuts no number
    console.print(_findings(rows, many_tokens), "")
    if overlap := _overlap(rows, seen):
        console.print(overlap)
    for warning in _warnings(rows):
        console.print(Text(warning, style="yellow"))
    # Paths and commands stay on one line, whatever the width, so that they can be copied.
    console.print(Text(f"\nrun folder  {_from_here(folder)}"), soft_wrap=True)
    if not any(folder.glob("events.out.*")):
        return
    command = f"tensorboard --logdir {shlex.quote(str(_from_here(outputs)))}"
    console.print(Text(f"look at it  {command}"), soft_wrap=True)
    console.print(Text(f"            {ADDRESS}"), soft_wrap=True)
    console.print(Text("            (curves unbent, seeds of a setup in one colour)", style="dim"))


def markdown(rows: Sequence[Row]) -> str:
    """What is printed of the rows of one lengths.csv, in Markdown."""
    rows = sorted(rows, key=lambda row: row["length"])
    many_tokens = _many_tokens(rows)
    table, findings = _table(rows, many_tokens), _findings(rows, many_tokens)
    names, values, meanings = (column.cells for column in findings.columns)
    found = [
        f"- {name} **{value}**: {meaning}"
        for name, value, meaning in zip(names, values, meanings, strict=True)
    ]
    parts = [f"**{table.title}**", "\n".join(found), _markdown(table), *_warnings(rows)]
    return "\n\n".join(parts)


def _many_tokens(rows: Sequence[Row]) -> bool:
    return any(row["token_accuracy"] != row["exact"] for row in rows)


def _markdown(table: Table) -> str:
    columns = table.columns
    lines = [
        [str(column.header).replace("\n", " ") for column in columns],
        ["---:" if column.justify == "right" else "---" for column in columns],
        *zip(*(map(str, column.cells) for column in columns), strict=True),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _from_here(path: Path) -> Path:
    """Shorter, where the path lies below the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _table(rows: Sequence[Row], many_tokens: bool) -> Table:
    first = rows[0]
    contender = label(first["encoding"], first["positions"])
    run = f"  {first['model']}, {contender}, seed {first['seed']}"
    table = Table(
        title=Text.assemble((first["task"], "bold"), run),
        title_style="",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    columns = ["length", "", "exact\nmatch", "95 %\ninterval", "chance"]
    counts_differ = len({row["n"] for row in rows}) > 1
    if many_tokens:
        forced = ",\nteacher-forced" if first["model"] == "decoder" else ""
        columns += [f"token accuracy{forced}", "token\nchance"]
    if counts_differ:
        columns.append("problems")
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        low, high = statistics.wilson(round(row["exact"] * row["n"]), row["n"])
        cells = [f"{low:.3f}–{high:.3f}", f"{row['chance']:.3f}"]
        if many_tokens:
            cells += [f"{row['token_accuracy']:.3f}", f"{row['token_chance']:.3f}"]
        if counts_differ:
            cells.append(str(row["n"]))
        exact = Text(f"{row['exact']:.3f}", style=_style(row, low))
        last = following is not None and _where(following) != _where(row)
        table.add_row(str(row["length"]), _where(row), exact, *cells, end_section=last)
    return table


def _where(row: Row) -> str:
    if row["in_range"]:
        return "trained"
    return "beyond" if row["length"] > row["train_max"] else "shorter"


def _style(row: Row, low: float) -> str:
    """Green where solved, red where no better than chance."""
    if row["exact"] >= statistics.HOLDS:
        return "green"
    return "red" if low <= row["chance"] else ""


def _findings(rows: Sequence[Row], many_tokens: bool) -> Table:
    lengths = [row["length"] for row in rows]
    train_max = rows[0]["train_max"]
    beyond = sum(length > train_max for length in lengths)
    span = f"lengths {train_max + 1} to {lengths[-1]}"
    if beyond < FEW:
        span += f" ({beyond} tested)"
    findings = Table.grid(padding=(0, 2))

    def add_score(name: str, value: str, chance: str, meaning: str) -> None:
        score = statistics.score(lengths, [row[value] for row in rows], train_max)
        blind = statistics.score(lengths, [row[chance] for row in rows], train_max)
        if score is None:
            findings.add_row(name, MISSING, f"no length beyond {train_max} was tested")
        else:
            findings.add_row(
                name, f"{score:.3f}", f"mean {meaning} over {span}; chance {blind:.3f}"
            )

    add_score("score", "exact", "chance", "exact match")
    if many_tokens:
        add_score("token score", "token_accuracy", "token_chance", "token accuracy")
    held = statistics.holds_to(lengths, [row["exact"] for row in rows])
    meaning = f"exact match is at least {statistics.HOLDS} up to this length"
    if held is None:
        meaning = f"exact match is below {statistics.HOLDS} at the shortest length already"
    elif held == lengths[-1]:
        meaning += ", the longest tested"
    findings.add_row("holds to", MISSING if held is None else str(held), meaning)
    return findings


def _overlap(rows: Sequence[Row], seen: Mapping[int, float]) -> str:
    """Says which of the tested lengths hold prompts that training had met, if any do."""
    shares = [(row["length"], seen.get(row["length"], 0)) for row in rows]
    met = [
        f"{share:.0%} of the prompts of length {length}"
        for length, share in shares
        if share >= 0.005
    ]
    return f"Training had already met {', '.join(met)}." if met else ""


def _warnings(rows: Sequence[Row]) -> list[str]:
    first, warnings = rows[0], []
    exact, in_range = [row["exact"] for row in rows], [row["in_range"] for row in rows]
    mean = statistics.trained_mean(exact, in_range)
    if mean is None:
        warnings.append("Fit not checked: no length that it was trained on was tested here.")
    elif not statistics.fitted(exact, in_range):
        warnings.append(
            f"Not fitted: its exact match on trained lengths averages {mean:.3f}, below "
            f"{statistics.HOLDS}, so its longer lengths say nothing."
        )
    if mask_tells_order(first["model"], first["encoding"]):
        warnings.append(f"This run has no encoding, yet it is not blind: {MASK_TELLS_ORDER}.")
    warnings.append("One seed is not a result: compare several, `-m seed=0,1,2`.")
    return warnings
