"""A report as one HTML page that needs no network: its charts' program is in it."""

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from os.path import relpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

import altair as alt
from jinja2 import Environment

from posenc.results.document import Cell, Document
from posenc.results.figures import NAMES, Rows, datasets, lines, looks, panel_chart, ranking
from posenc.results.panels import CURVES, Panel

PARTS = files("posenc.results") / "template"
"""The folder of page.html, page.css and page.js."""
DIGITS = 4
"""Of numbers behind charts."""


def page(document: Document, *, beside: Path) -> str:
    """The document as HTML, with links to run folders from the folder `beside`."""

    def address(cell: Cell) -> str:
        assert cell.link is not None
        return quote(relpath(cell.link, beside))

    panels = [section.panel for section in document.sections if section.panel]
    labels = ranking(panels)
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _part("page.html")
    )
    return template.render(
        document=document,
        looks=looks(labels),
        metrics={name: NAMES[name] for name in CURVES if _tells(name, panels)},
        address=address,
        style=_part("page.css"),
        charts=_json([_chart(panel, labels, beside) for panel in panels]),
        library=_library(),
        program=_part("page.js"),
    )


def _tells(metric: str, panels: Sequence[Panel]) -> bool:
    return metric != "token_accuracy" or any(panel.many_tokens for panel in panels)


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed, as vl-convert carries them."""
    import vl_convert

    return str(vl_convert.javascript_bundle()).replace("</script", "<\\/script")


def _chart(panel: Panel, labels: Sequence[str], beside: Path) -> dict[str, Any]:
    """Specifications by metric, without data; the data in columns; the folders of runs."""
    named = {name: alt.NamedData(name=name) for name in ("lines", "seeds", "chance", "trained")}
    specs = {}
    for metric in CURVES:
        chart = panel_chart(panel, metric, labels, named, answers=True)
        specs[metric] = chart.to_dict()
    data = datasets(panel, lines(panel), labels)
    return {
        "specs": specs,
        "data": {name: _columns(rows) for name, rows in data.items()},
        "folders": _folders(panel, beside),
    }


def _columns(rows: Rows) -> dict[str, list[Any]]:
    """The same with every name written once."""
    return {name: [_short(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return round(value, DIGITS) if math.isfinite(value) else None


def _folders(panel: Panel, beside: Path) -> dict[str, dict[int, str]]:
    """Label -> seed -> address of the run's folder."""
    return {
        contender.label: {
            run.seed: quote(relpath(run.origin.folder, beside))
            for run in contender.runs
            if run.origin
        }
        for contender in panel.contenders
    }


def _json(value: Any) -> str:
    """As it may stand in a script: no text in it can end one."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
