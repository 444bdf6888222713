"""What keeps the rows of one table from being compared, for a reader to be told."""

from collections import defaultdict
from collections.abc import Iterable

import polars as pl

from posenc.results.variants import Variants, differences

NAMED = 3
"""Most rows of the commonest value that are named; more of them are `others`."""

EXPECTED = ("encoding.", "positions.", "model.name", "model.causal", "trainer.accelerator")
"""Settings that may differ: what a table compares and tells in its columns, and what changes
nothing but how numbers are rounded."""


def remarks(table: pl.DataFrame, variants: Variants) -> list[str]:
    """What besides the encoding differs between these rows of `contenders`: a line on settings,
    a line on numbers of test problems, or none."""
    fingerprints = table["fingerprint"].to_list()
    differing = [
        f"{key}: {_who(table, [words.get(own, 'unknown') for own in fingerprints])}"
        for key, words in differences(variants, fingerprints).items()
        if not key.startswith(EXPECTED)
    ]
    lines = []
    if differing:
        told = "; in ".join(differing)
        lines.append(f"These rows differ in {told}; compare within one value only.")
    if table["problems"].n_unique() > 1:
        told = _who(table, map(str, table["problems"]))
        lines.append(f"Problems tested at each length: {told}; the fewer, the less certain.")
    return lines


def _who(table: pl.DataFrame, values: Iterable[str]) -> str:
    """Every value with the rows that have it, the commonest last: `400 (fire), 2000 (others)`."""
    several = table["model"].n_unique() > 1
    rows = defaultdict(list)
    for value, label, model in zip(values, table["label"], table["model"], strict=True):
        rows[value].append(f"{label} {model}" if several else label)
    ranked = sorted(rows, key=lambda value: len(rows[value]))
    if len(rows[ranked[-1]]) > NAMED:
        rows[ranked[-1]] = ["others"]
    return ", ".join(f"{value} ({', '.join(rows[value])})" for value in ranked)
