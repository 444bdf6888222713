"""From runs to a verdict: every finished run below some folders, compared.

    python scripts/report.py                          # all of outputs/
    python scripts/report.py outputs/copy --baseline rope
    python scripts/report.py outputs/copy --out report.html --format html,md,png,svg,csv
    python scripts/report.py --study copy             # the kept rows of a study, and its claims
    python scripts/report.py outputs/studies/copy --study copy

Prints a verdict and tables for every task, and writes them as one HTML page with charts that
answer to the mouse and the keyboard, as Markdown, the curves as PNG and SVG, and every row as CSV.
A study of experiments/ has claims, and its kept rows or those of FOLDER say which of them came out;
of kept rows its figure is drawn anew, and so are the tables of its README.md.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from posenc.console import Parser, forgiving_output, quiet_interrupts
from posenc.importing import to_stay

with quiet_interrupts(), to_stay("altair"):  # the rest takes a moment
    from rich.console import Console

    from posenc.cli import MENDABLE, one_line_errors
    from posenc.errors import ConfigError, one_of
    from posenc.results.charts import rasterised, svg
    from posenc.results.disk import replacing
    from posenc.results.figures import length_curves
    from posenc.results.labels import METRICS
    from posenc.results.legible import Legible
    from posenc.results.page import page
    from posenc.results.panels import panels
    from posenc.results.reading import read
    from posenc.results.report import BASELINE, document, markdown, summary
    from posenc.results.studies import Study

PROJECT = Path(__file__).resolve().parents[1]
OUTPUTS, EXPERIMENTS = PROJECT / "outputs", PROJECT / "experiments"
NAMES = {"html": "report", "md": "report", "png": "figure", "svg": "figure", "csv": "results"}
"""Format -> what its file is called in a folder."""


def main() -> None:
    """Reads arguments and runs, prints, writes."""
    parser = Parser(description="From finished runs to a verdict.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="holds runs; default: outputs"
    )
    parser.add_argument(
        "--out", type=Path, metavar="PLACE",
        help="a folder, or a file whose name all formats share; default: the first FOLDER",
    )  # fmt: skip
    parser.add_argument(
        "--format", metavar="LIST",
        help=f"default: {','.join(NAMES)}; for a study in its own folder: png",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", metavar="NAME",
        help=f"what every encoding is compared with; default: {BASELINE} or, without it, the best",
    )  # fmt: skip
    parser.add_argument(
        "--metric", choices=METRICS,
        help="what pictures show, and bits a table, too; default: exact, or what a study is about",
    )  # fmt: skip
    parser.add_argument("--study", metavar="NAME", help="whose claims these runs are to decide")
    arguments = parser.parse_args()
    study = None if arguments.study is None else Study.named(arguments.study, EXPERIMENTS)
    kept = None if arguments.folders else study
    folders = arguments.folders or [kept.rows if kept else OUTPUTS]
    out = arguments.out or (kept.folder if kept else folders[0])
    metric = arguments.metric or ("exact" if study is None else study.metric)
    own = kept is not None and out.resolve() == kept.folder.resolve()
    formats = arguments.format or ("png" if own else ",".join(NAMES))
    given = {place.resolve() for place in (*folders, *([study.page] if study else []))}
    files = {each: path for each, path in _files(out, formats).items()
             if path.resolve() not in given}  # fmt: skip
    if not files:
        raise ConfigError(f"--out {out}: would be written over what is read; name another place")
    written = {path.resolve() for path in files.values()}
    if kept and metric != kept.metric and kept.figure.resolve() in written:
        raise ConfigError(
            f"--metric {metric}: the figure of a study shows {kept.metric}, what its "
            "claims are about; name another place by --out"
        )
    found = kept.kept() if kept else read(folders)
    for path, reason in found.skipped:
        print(f"left out: {path}: {reason}", file=sys.stderr)
    if found.rows.is_empty():
        raise ConfigError(f"no finished run below {', '.join(map(str, folders))}: train one")
    told = document(
        found, arguments.baseline, claims=() if study is None else study.claims, metric=metric
    )
    if study and not kept:
        told = replace(told, summary=" ".join([told.summary, *study.strangers(found)]))
    beside = next(iter(files.values())).parent
    drawn = cache(lambda: svg(length_curves(panels(found), told.metric)))
    makers: dict[str, Callable[[], bytes]] = {
        "html": lambda: page(told, beside=beside).encode(),
        "md": lambda: markdown(told, beside=beside).encode(),
        "png": lambda: rasterised(drawn()),
        "svg": drawn,
        "csv": lambda: found.rows.write_csv().encode(),
    }
    contents = {path: makers[format_]() for format_, path in files.items()}
    if kept and not (arguments.format or arguments.out):
        contents[kept.page] = kept.filled(told).encode()
    try:
        beside.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            with replacing(path.resolve()) as unfinished:
                unfinished.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error}; name a place to write in") from None
    if sys.stdout.isatty():
        Console().print(Legible(summary(told)))
    else:
        print(summary(told))
    print(f"wrote {', '.join(map(str, contents))}", file=sys.stderr)


def _files(out: Path, formats: str) -> dict[str, Path]:
    """Format -> the file to write. Raises ConfigError for an unknown format."""
    wanted = formats.split(",")
    if unknown := [each for each in wanted if each not in NAMES]:
        raise ConfigError(f"--format {formats}: '{unknown[0]}' is none; {one_of(NAMES)}")
    if out.suffix.removeprefix(".") in NAMES and not out.is_dir():
        return {each: out.with_suffix(f".{each}") for each in wanted}
    return {each: out / f"{NAMES[each]}.{each}" for each in wanted}


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
