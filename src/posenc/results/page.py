"""A report as one HTML page that needs no network: the program that draws its charts is in it."""

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

from posenc.results.curves import Rows, datasets, ranking
from posenc.results.document import Document
from posenc.results.figures import ROUND, layers, looks, widest_first
from posenc.results.labels import METRICS, MISSING
from posenc.results.panels import Panel

PARTS = files("posenc.results") / "template"
"""The folder of page.html, page.css and page.js."""
DIGITS = 4
"""Of numbers behind charts."""
LONG = 40
"""Rows from which a table of an appendix has to be opened."""
WIDE = 24
"""Letters from which a cell has several lines."""


def page(document: Document, *, beside: Path) -> str:
    """The document as HTML, with links to run folders from the folder `beside`."""

    def address(folder: Path) -> str:
        return quote(relpath(folder, beside))

    panels = [section.panel for section in document.sections if section.panel]
    labels = ranking(panels, document.metric)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_part("page.html")).render(
        document=document,
        looks=looks(labels),
        metrics={
            name: METRICS[name]
            for name in METRICS
            if name == document.metric or _tells(name, panels)
        },
        address=address,
        long=LONG,
        wide=WIDE,
        far=any(panel.far for panel in panels),
        style=_part("page.css"),
        charts=_json({
            "specs": {name: _spec(name, labels) for name in METRICS},
            "data": [_data(panel, labels, beside) for panel in panels],
            "missing": MISSING,
            "round": ROUND,
        }),
        library=_library(),
        program=_part("page.js"),
    )  # fmt: skip


def _tells(metric: str, panels: Sequence[Panel]) -> bool:
    return metric != "token_accuracy" or any(panel.many_tokens for panel in panels)


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed, as vl-convert carries them."""
    import vl_convert

    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return bundle.replace("</script", "<\\/script")


def _spec(metric: str, labels: Sequence[str]) -> dict[str, Any]:
    """What all panels have in common: everything but the data."""
    chart = alt.LayerChart(layer=layers(metric, labels, answers=True))
    return dict(chart.add_params(alt.param(name="isolated", value=None)).to_dict())


def _data(panel: Panel, labels: Sequence[str], beside: Path) -> dict[str, Rows]:
    """The rows behind a chart, those of seeds with the address of their run's folder."""
    folders = {
        (contender.label, run.seed): quote(relpath(run.origin.folder, beside))
        for contender in panel.contenders
        for run in contender.runs
        if run.origin
    }
    data = datasets(panel, widest_first(labels))
    for row in data["seeds"]:
        row["href"] = folders.get((row["label"], row["seed"]))
    return data


def _json(value: Any) -> str:
    """As it may stand in a script: no text in it can end one."""
    text = json.dumps(_short(value), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
