"""How runs and sweeps stand at this moment, from their files alone.

    python scripts/status.py                          # all of outputs/
    python scripts/status.py outputs/copy --all       # finished runs, too
    python scripts/status.py --watch                  # drawn again every two seconds, until Ctrl-C
    python scripts/status.py --format json

Prints how many runs are finished, running, waiting, failed, interrupted and lost (killed: the same
command goes on from the last checkpoint), the sweeps that go on or lack runs, with the time that is
left, and every run that is not finished, with its progress or the reason why it has none.
"""

import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from posenc.console import Parser, forgiving_output, quiet_interrupts

with quiet_interrupts():  # the rest takes a moment
    from rich.console import Console
    from rich.live import Live

    from posenc.cli import MENDABLE, one_line_errors
    from posenc.results.status_table import as_data, drawn
    from posenc.results.sweep_status import look

OUTPUTS = Path(__file__).resolve().parents[1] / "outputs"
EVERY = 2.0
"""Seconds between two pictures."""
WIDE = 10_000
"""Columns where nobody looks: every run stays on one line."""


def main() -> None:
    """Reads arguments, looks and prints, once or until Ctrl-C."""
    parser = Parser(description="How runs and sweeps stand.")
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="holds runs; default: outputs"
    )
    parser.add_argument("--all", action="store_true", help="list every run, finished ones too")
    parser.add_argument("--watch", action="store_true", help="draw it again until Ctrl-C")
    parser.add_argument(
        "--format", default="table", choices=("table", "json"), help="default: %(default)s"
    )
    arguments = parser.parse_args()
    folders, everything = arguments.folders or [OUTPUTS], arguments.all
    table, seen = arguments.format == "table", sys.stdout.isatty()
    console = Console(highlight=False, width=None if seen else WIDE)
    redrawn = table and seen and arguments.watch
    with Live(console=console, auto_refresh=False) if redrawn else nullcontext() as live:
        while True:
            picture = look(folders)
            if not table:
                print(json.dumps(as_data(picture, everything=everything)), flush=True)
            elif live is not None:
                live.update(drawn(picture, everything=everything), refresh=True)
            else:
                console.print(drawn(picture, everything=everything, bars=seen))
            if not arguments.watch:
                return
            time.sleep(EVERY)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
