"""What many runs say together: one row per run, one row per contender, a table to read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from posenc.results import statistics
from posenc.results.comparable import remarks
from posenc.results.labels import MASK_TELLS_ORDER, MISSING, label, mask_tells_order
from posenc.results.reading import RUN
from posenc.results.variants import Variants, differences

SETTING = ["task", "train_max", "tested"]
"""Runs are compared only where all agree: a score is a mean over the tested lengths."""

UNNAMED = ["fingerprint", "positions_at_eval", "draws"]
"""What can differ between contenders of one name."""

CONTENDER = [*SETTING, "model", "encoding", "positions", *UNNAMED]
"""What the seeds of one contender share."""


def runs(rows: pl.DataFrame, variants: Variants) -> pl.DataFrame:
    """Every run with its train_max, `label`, `fitted`, `score`, `chance` and `holds_to`.

    `tested` lists its lengths, `problems` counts those of one length. `chance` is the score of an
    order-blind guess, so that it can stand beside `score`.
    """
    groups = rows.sort(*RUN, "length").group_by(RUN, maintain_order=True)
    found = [_run(run) for _, run in groups]
    _tell_apart(found, variants)
    return pl.DataFrame(
        found, schema_overrides={"score": pl.Float64, "chance": pl.Float64, "holds_to": pl.Int64}
    )


def _run(rows: pl.DataFrame) -> dict[str, Any]:
    first = rows.row(0, named=True)
    lengths, exact = rows["length"].to_list(), rows["exact"].to_list()
    return {key: first[key] for key in [*RUN, *UNNAMED, "train_max"]} | {
        "tested": " ".join(map(str, lengths)),
        "problems": rows["n"].min(),
        "label": label(first["encoding"], first["positions"]),
        "fitted": statistics.fitted(exact, rows["in_range"].to_list()),
        "score": statistics.score(lengths, exact, first["train_max"]),
        "chance": statistics.score(lengths, rows["chance"].to_list(), first["train_max"]),
        "holds_to": statistics.holds_to(lengths, exact),
    }


def _tell_apart(found: list[dict[str, Any]], variants: Variants) -> None:
    """Adds to the labels of contenders of one name the settings in which they differ."""
    values = defaultdict(set)
    for run in found:
        for column in UNNAMED:
            values[_name(run), column].add(run[column])
    for run, name in zip(found, map(_name, found), strict=True):
        words = [
            _settings(run["fingerprint"], values[name, "fingerprint"], variants),
            f"positions.at_eval={run['positions_at_eval']}",
            f"positions.draws={run['draws']}",
        ]
        differing = [
            word for word, key in zip(words, UNNAMED, strict=True) if len(values[name, key]) > 1
        ]
        if differing:
            run["label"] += f" [{', '.join(differing)}]"


def _settings(own: str, rivals: Iterable[str], variants: Variants) -> str:
    """Those in which a configuration differs from its rivals, or else its fingerprint."""
    differing = differences(variants, rivals).items()
    return ", ".join(f"{key}={words[own]}" for key, words in differing if own in words) or own


def _name(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(run[key] for key in ("task", "train_max", "model", "encoding", "positions"))


def contenders(rows: pl.DataFrame, variants: Variants) -> pl.DataFrame:
    """One row per contender, best first in each setting; its numbers come from fitted runs only.

    An unfitted run is counted, never averaged. `held` is the median of holds_to, the lower one of
    two, and 0 where nothing held.
    """
    fitted = pl.col("fitted")
    score = pl.col("score").filter(fitted)
    return (
        runs(rows, variants)
        .group_by(*CONTENDER, "label")
        .agg(
            runs=pl.len(),
            seeds=pl.col("seed").n_unique(),
            fitted=fitted.sum(),
            score=score.mean(),
            worst=score.min(),
            best=score.max(),
            held=pl.col("holds_to").fill_null(0).filter(fitted).quantile(0.5, "lower").cast(int),
            chance=pl.col("chance").mean(),
            problems=pl.col("problems").min(),
        )
        .sort(
            *SETTING,
            "score",
            "model",
            "label",
            descending=[False, False, False, True, False, False],
            nulls_last=True,
        )
    )


def markdown(rows: pl.DataFrame, variants: Variants) -> str:
    """A Markdown table for every setting, best contender first, and what its marks mean."""
    exact = _mean_exact(rows, variants)
    return "\n\n".join(
        _table(table, exact, remarks(table, variants))
        for _, table in contenders(rows, variants).group_by(SETTING, maintain_order=True)
    )


def shown_lengths(lengths: list[int], train_max: int) -> list[int]:
    """The longest trained length and up to four beyond it, spread evenly and ending at the last."""
    trained = [length for length in lengths if length <= train_max][-1:]
    beyond = [length for length in lengths if length > train_max]
    count = min(4, len(beyond))
    return trained + [beyond[(k + 1) * len(beyond) // count - 1] for k in range(count)]


def _table(
    table: pl.DataFrame, exact: Mapping[tuple[Any, ...], str], warnings: Sequence[str]
) -> str:
    task, train_max, tested = table.select(SETTING).row(0)
    lengths = list(map(int, tested.split()))
    shown = shown_lengths(lengths, train_max)
    at = [f"at {length}" for length in shown]
    head = ["encoding", "model", "fitted", "seeds", *at, "holds to", "score", "chance"]
    body = [
        [
            row["label"] + (" *" if mask_tells_order(row["model"], row["encoding"]) else ""),
            row["model"],
            f"{row['fitted']} of {row['runs']}",
            "1 (single)" if row["seeds"] == 1 else str(row["seeds"]),
            *(exact[*(row[key] for key in CONTENDER), length] for length in shown),
            str(row["held"] or MISSING),
            _spread(row),
            _number(row["chance"]),
        ]
        for row in table.iter_rows(named=True)
    ]
    rule = ["---"] * 4 + ["---:"] * (len(head) - 4)
    many = f"{len(lengths)} lengths up to " if len(lengths) > 1 else ""
    title = f"### {task}, trained to length {train_max}, tested at {many}{lengths[-1]}"
    notes = "  \n".join([*warnings, *_notes(table)])
    return "\n".join([title, "", *map(_line, [head, rule, *body]), "", notes])


def _mean_exact(rows: pl.DataFrame, variants: Variants) -> dict[tuple[Any, ...], str]:
    """(*CONTENDER, length) -> mean exact match of the fitted runs; in parentheses of all, if none
    is fitted."""
    fitted = pl.col("fitted")
    means = (
        rows.join(runs(rows, variants).select(*RUN, "tested", "fitted"), on=RUN)
        .with_columns(counted=fitted.any().over(CONTENDER))
        .filter(fitted | ~pl.col("counted"))
        .group_by(*CONTENDER, "length", "counted")
        .agg(pl.col("exact").mean())
    )
    return {
        tuple(key): _number(mean) if counted else f"({_number(mean)})"
        for *key, counted, mean in means.iter_rows()
    }


def _notes(table: pl.DataFrame) -> list[str]:
    notes = [
        f"Exact match: mean over fitted runs, those that reach {statistics.HOLDS} on trained "
        "lengths. Score: its mean over all longer lengths (worst to best run); chance: the score "
        "of a guess blind to order."
    ]
    if table["fitted"].min() == 0:
        notes.append(
            "In parentheses: none of these runs is fitted; the figures are means over all of them."
        )
    if table["seeds"].min() == 1:
        notes.append("Single: one seed is not a result.")
    if any(map(mask_tells_order, table["model"], table["encoding"])):
        notes.append(f"\\*: {MASK_TELLS_ORDER}.")
    if any(label.endswith("]") for label in table["label"]):
        notes.append(
            "[...]: settings in which contenders of one name differ; their fingerprint, where no "
            "config.yaml tells them."
        )
    return notes


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _spread(row: dict[str, float | None]) -> str:
    worst, best = _number(row["worst"]), _number(row["best"])
    return _number(row["score"]) + ("" if worst == best else f" ({worst} to {best})")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
