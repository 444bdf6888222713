"""What keeps the contenders of a panel from being compared, for a reader to be told."""

from collections import defaultdict
from collections.abc import Iterable

from posenc.results.panels import Panel
from posenc.results.variants import Variants, differences

NAMED = 3
"""Most contenders of the commonest value that are named; more of them are `others`."""

EXPECTED = (
    "encoding.", "positions.", "trainer.accelerator", "length.test", "eval.lengths", "eval.samples",
)  # fmt: skip
"""Settings that may differ: what a panel compares, what changes nothing but how numbers are
rounded, and what leads to the same lengths or is told as numbers of problems."""


def remarks(panel: Panel, variants: Variants) -> list[str]:
    """What besides the encoding differs between contenders: a line on settings, a line on numbers
    of test problems, or none."""
    runs = [contender.runs[0] for contender in panel.contenders]
    differing = [
        f"{key}: {_who(panel, [words.get(own, 'unknown') for own in hashes])}"
        for hashes in ([run.fingerprint for run in runs], [run.evaluation for run in runs])
        for key, words in differences(variants, hashes).items()
        if not key.startswith(EXPECTED)
    ]
    problems = [min(run.problems for run in each.runs) for each in panel.contenders]
    lines = []
    if differing:
        told = "; in ".join(differing)
        lines.append(f"These contenders differ in {told}; compare within one value only.")
    if len(set(problems)) > 1:
        told = _who(panel, map(str, problems))
        lines.append(f"Problems tested at each length: {told}; the fewer, the less certain.")
    return lines


def _who(panel: Panel, values: Iterable[str]) -> str:
    """Every value with the contenders that have it, the commonest last:
    `400 (fire), 2000 (others)`."""
    having = defaultdict(list)
    for value, contender in zip(values, panel.contenders, strict=True):
        having[value].append(contender.label)
    ranked = sorted(having, key=lambda value: len(having[value]))
    if len(having[ranked[-1]]) > NAMED:
        having[ranked[-1]] = ["others"]
    return ", ".join(f"{value} ({', '.join(having[value])})" for value in ranked)
