"""Evaluate a finished run at other lengths, and keep the rows beside the first ones.

    python scripts/evaluate.py run=FOLDER length.test=200
    python scripts/evaluate.py run=FOLDER length.test=500 'eval.lengths=[50,500]' eval.samples=512
    python scripts/evaluate.py run=FOLDER positions.at_eval=even
    python scripts/evaluate.py run=FOLDER length.test=800 encoding.max_length=801

Any eval.*, length.test, positions.at_eval, positions.draws, encoding.factor_at_eval,
encoding.max_length, trainer.accelerator and threads can be given; the other settings are those of
the run. A table of positions can only grow, and no training has seen its further rows: they are as
the seed draws them. One of several encodings is named by its number, as in
encoding.parts.0.max_length=801. What was evaluated before is shown again without computing.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posenc.console import forgiving_output, quiet_interrupts

with quiet_interrupts():  # the rest takes a moment
    from posenc.cli import MENDABLE, one_line_errors
    from posenc.importing import to_stay
    from posenc.reopen import arguments, reopen


def main(given: list[str]) -> None:
    """Reads key=value arguments, evaluates, prints."""
    own, changes = arguments(given, ["run"])
    config, folder = reopen(own["run"], changes)

    with to_stay("torch"):  # after the arguments are known to be right
        import torch
        from rich.console import Console

        from posenc.building import build
        from posenc.results.details import print_details
        from posenc.results.terminal import print_run
        from posenc.scoring import evaluate

    torch.set_num_threads(config.threads)
    with folder.locked():
        rows, seen = evaluate(config, build(config), folder)
    if anew := folder.asked_anew(asdict(config)):
        print(f"\nevaluated again with {' '.join(map(_spelled, anew, anew.values()))}")
    moved = not folder.path.is_relative_to(config.outputs)
    outputs = folder.path if moved else Path(config.outputs)
    print_details(folder.path, folder.rows_name(asdict(config)), Console(highlight=False))
    print_run(rows, folder=folder.path, outputs=outputs, seen=seen)
    print(f"rows        {folder.path / folder.rows_name(asdict(config))}")


def _spelled(key: str, value: Any) -> str:
    """A setting as it is written on a command line."""
    return f"{key}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        if {"-h", "--help"} & set(sys.argv):
            print(__doc__)
        else:
            main(sys.argv[1:])
