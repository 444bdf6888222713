"""Tables and a figure of every finished run below some folders.

    python scripts/report.py [FOLDER ...] [--out DIR]

Prints a table per task, in Markdown where it is written to a file or a pipe, and writes
results.csv (every row) and figure.png.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.errors import ConfigError
from posenc.results.charts import png
from posenc.results.figures import length_curves
from posenc.results.legible import Legible
from posenc.results.reading import read
from posenc.results.report import markdown

OUTPUTS = Path(__file__).resolve().parents[1] / "outputs"


def main() -> None:
    """Reads arguments and runs, prints, writes."""
    parser = argparse.ArgumentParser(description="Tables and a figure of finished runs.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="holds runs; default: outputs"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: the first FOLDER")
    arguments = parser.parse_args()
    folders = arguments.folders or [OUTPUTS]
    out = arguments.out or folders[0]
    rows, variants, skipped = read(folders)
    for folder, reason in skipped:
        print(f"left out: {folder}: {reason}", file=sys.stderr)
    if rows.is_empty():
        raise ConfigError(f"no finished run below {', '.join(map(str, folders))}: train one")
    picture = png(length_curves(rows, variants))
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.csv").write_text(rows.write_csv(), encoding="utf-8")
        (out / "figure.png").write_bytes(picture)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error}; name a folder to write in") from None
    text = markdown(rows, variants)
    if sys.stdout.isatty():
        Console().print(Legible(text))
    else:
        print(text)
    print(f"wrote {out / 'results.csv'} and {out / 'figure.png'}", file=sys.stderr)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
