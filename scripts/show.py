"""Ask a finished run about a prompt, and about the same tokens in another order.

    python scripts/show.py run=FOLDER prompt="the man bit the old dog"

Prints what the network answers, how sure it is, and which tokens it looked at.
"""

import sys

from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.reopen import arguments, reopen


def main(given: list[str]) -> None:
    """Reads key=value arguments and shows."""
    own, changes = arguments(given, ["run", "prompt"])
    config, folder = reopen(own["run"], changes)

    from posenc.building import build  # imports torch
    from posenc.checkpoint import load_weights, read_checkpoint
    from posenc.showing import show

    experiment = build(config)
    load_weights(experiment.net, read_checkpoint(folder.checkpoint))
    run = f"{config.model.name}, encoding={config.encoding['name']}, seed {config.seed}"
    show(experiment, own["prompt"], title=f"{config.task['name']}, {run}")


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        if {"-h", "--help"} & set(sys.argv):
            print(__doc__)
        else:
            main(sys.argv[1:])
