"""The table of what the loss comes to, for tasks whose answers are never sure."""

from statistics import fmean

from posenc.results.document import Cell, Table
from posenc.results.labels import MASK_TELLS_ORDER, mask_tells_order
from posenc.results.panels import Contender, Panel
from posenc.results.tables import columns


def bits_table(panel: Panel) -> Table:
    """Mean loss over stretches of lengths and all runs, fitted or not, the least at the end first.

    Exact match decides what is fitted, and of an answer of which nothing is sure it says little.
    """
    stretches = columns(panel)
    rows = []
    means = [(_mean(contender), contender) for contender in panel.contenders]
    for curve, contender in sorted(means, key=lambda each: each[0][-1]):
        bits = [fmean(curve[place] for place in column.places) for column in stretches]
        seeds = len(contender.runs)
        star = " *" if mask_tells_order(panel.model, contender.encoding) else ""
        rows.append([
            Cell(contender.label + star), Cell(str(seeds), seeds),
            *(Cell(f"{value:.2f}", value) for value in bits),
        ])  # fmt: skip
    return Table(
        title=f"loss, bits a token, over all runs: {panel.tested}",
        head=["encoding", "runs", *(column.head for column in stretches)],
        rows=rows,
        notes=[f"*: {MASK_TELLS_ORDER}."] if panel.mask_tells else [],
    )


def _mean(contender: Contender) -> list[float]:
    """Bits by length over its runs."""
    return [
        fmean(values) for values in zip(*(r.curves["bits"] for r in contender.runs), strict=True)
    ]
