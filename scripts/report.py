"""Tables and a figure of every finished run below some folders.

    python scripts/report.py [FOLDER ...] [--out DIR]

Prints a Markdown table per task and writes results.csv (every row) and figure.png.
"""

import argparse
import sys
from pathlib import Path

from posenc.errors import ConfigError
from posenc.results.figures import length_curves, save
from posenc.results.reading import read
from posenc.results.report import markdown

OUTPUTS = Path(__file__).resolve().parents[1] / "outputs"


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables and a figure of finished runs.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="holds runs; default: outputs"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: the first FOLDER")
    arguments = parser.parse_args()
    folders = arguments.folders or [OUTPUTS]
    out = arguments.out or folders[0]
    try:
        rows, skipped = read(folders)
        for folder, reason in skipped:
            print(f"left out: {folder}: {reason}", file=sys.stderr)
        if rows.is_empty():
            raise ConfigError(f"no finished run below {', '.join(map(str, folders))}: train one")
    except ConfigError as error:
        parser.exit(2, f"{error}\n")
    out.mkdir(parents=True, exist_ok=True)
    rows.write_csv(out / "results.csv")
    save(length_curves(rows), out / "figure.png")
    print(markdown(rows))
    print(f"wrote {out / 'results.csv'} and {out / 'figure.png'}", file=sys.stderr)


if __name__ == "__main__":
    main()
