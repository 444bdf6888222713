"""What many runs say together: one row per run, one row per contender, a table to read."""

import polars as pl

from posenc.results import statistics
from posenc.results.labels import MASK_TELLS_ORDER, MISSING, label, mask_tells_order
from posenc.results.reading import RUN

SETTING = ["task", "train_max"]
"""Runs are compared only where both agree."""

CONTENDER = [*SETTING, "model", "encoding", "positions", "fingerprint"]
"""What the seeds of one contender share."""


def runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Every run with its train_max, `label`, `fitted`, `score`, `chance` and `holds_to`.

    `chance` is the score of an order-blind guess, so that it can stand beside `score`.
    """
    groups = rows.sort(*RUN, "length").group_by(RUN, maintain_order=True)
    return pl.DataFrame(
        [_run(run) for _, run in groups],
        schema_overrides={"score": pl.Float64, "chance": pl.Float64, "holds_to": pl.Int64},
    ).with_columns(label=_told_apart)


_variants = pl.col("fingerprint").n_unique().over(*SETTING, "model", "label")
_told_apart = (
    pl.when(_variants > 1).then(pl.format("{} [{}]", "label", "fingerprint")).otherwise("label")
)
"""Configurations that differ in other settings than their names show carry their fingerprint."""


def _run(rows: pl.DataFrame) -> dict[str, object]:
    first = rows.row(0, named=True)
    lengths, exact = rows["length"].to_list(), rows["exact"].to_list()
    return {key: first[key] for key in [*RUN, "train_max"]} | {
        "label": label(first["encoding"], first["positions"]),
        "fitted": statistics.fitted(exact, rows["in_range"].to_list()),
        "score": statistics.score(lengths, exact, first["train_max"]),
        "chance": statistics.score(lengths, rows["chance"].to_list(), first["train_max"]),
        "holds_to": statistics.holds_to(lengths, exact),
    }


def contenders(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per contender, best first in each setting; its numbers come from fitted runs only.

    An unfitted run is counted, never averaged. `held` is the median of holds_to, the lower one of
    two, and 0 where nothing held.
    """
    fitted = pl.col("fitted")
    score = pl.col("score").filter(fitted)
    return (
        runs(rows)
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
        )
        .sort(
            *SETTING,
            "score",
            "model",
            "label",
            descending=[False, False, True, False, False],
            nulls_last=True,
        )
    )


def markdown(rows: pl.DataFrame) -> str:
    """A Markdown table for every setting, best contender first, and what its marks mean."""
    return "\n\n".join(
        _table(table, rows.join(table, on=CONTENDER, how="semi"))
        for _, table in contenders(rows).group_by(SETTING, maintain_order=True)
    )


def shown_lengths(lengths: list[int], train_max: int) -> list[int]:
    """The longest trained length and up to four beyond it, spread evenly and ending at the last."""
    trained = [length for length in lengths if length <= train_max][-1:]
    beyond = [length for length in lengths if length > train_max]
    count = min(4, len(beyond))
    return trained + [beyond[(k + 1) * len(beyond) // count - 1] for k in range(count)]


def _table(table: pl.DataFrame, rows: pl.DataFrame) -> str:
    task, train_max = table.row(0)[:2]
    lengths = shown_lengths(sorted(rows["length"].unique()), train_max)
    exact = _mean_exact(rows)
    at = [f"at {length}" for length in lengths]
    head = ["encoding", "model", "fitted", "seeds", *at, "holds to", "score", "chance"]
    body = [
        [
            row["label"] + (" *" if mask_tells_order(row["model"], row["encoding"]) else ""),
            row["model"],
            f"{row['fitted']} of {row['runs']}",
            "1 (single)" if row["seeds"] == 1 else str(row["seeds"]),
            *(exact.get((row["model"], row["label"], length), MISSING) for length in lengths),
            str(row["held"] or MISSING),
            _spread(row),
            _number(row["chance"]),
        ]
        for row in table.iter_rows(named=True)
    ]
    rule = ["---"] * 4 + ["---:"] * (len(head) - 4)
    title = f"### {task}, trained to length {train_max}"
    return "\n".join([title, "", *map(_line, [head, rule, *body]), *_notes(table)])


def _mean_exact(rows: pl.DataFrame) -> dict[tuple[str, str, int], str]:
    """(model, label, length) -> mean exact match of the fitted runs; in parentheses of all, if none
    is fitted."""
    fitted = pl.col("fitted")
    means = (
        rows.join(runs(rows).select(*RUN, "label", "fitted"), on=RUN)
        .with_columns(counted=fitted.any().over("model", "label"))
        .filter(fitted | ~pl.col("counted"))
        .group_by("model", "label", "length", "counted")
        .agg(pl.col("exact").mean())
    )
    return {
        (model, name, length): _number(mean) if counted else f"({_number(mean)})"
        for model, name, length, counted, mean in means.iter_rows()
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
        notes.append("[...]: the fingerprint of settings that the names do not show.")
    return ["", "  \n".join(notes)]


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _spread(row: dict[str, float | None]) -> str:
    worst, best = _number(row["worst"]), _number(row["best"])
    return _number(row["score"]) + ("" if worst == best else f" ({worst} to {best})")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
