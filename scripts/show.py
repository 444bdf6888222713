"""Look at an encoding before any training, or ask a finished run.

    python scripts/show.py encoding=fire
    python scripts/show.py encoding=fire encoding.threshold=50 model=decoder length=200 out=DIR
    python scripts/show.py run=FOLDER prompt="the man bit the old dog"

Without run=, prints what the encoding is, and draws what it does to a text into `out`, unless given
a folder of these settings below outputs/pictures. The text is the longest problem of the task
that has no more than `length` tokens, as many as length.test says unless given. Any other key is
one of train.py. With run=, prints what a trained network answers, how sure it is, and which tokens
it looked at, for a prompt and for the same tokens in another order.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hydra import compose, initialize_config_dir

from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.errors import ConfigError
from posenc.reopen import arguments, reopen
from posenc.results.records import RunFolder, evaluation_hash
from posenc.schema import CONFIGS, load


def ask(given: Sequence[str]) -> None:
    """Shows what a finished run makes of a prompt."""
    # Without a prompt it is empty, and refused by the network that knows an example of one.
    own, changes = arguments(["prompt=", *given], ["run", "prompt"])
    config, folder = reopen(own["run"], changes)

    from posenc.building import build  # imports torch
    from posenc.checkpoint import load_weights, read_checkpoint
    from posenc.showing import show

    experiment = build(config)
    load_weights(experiment.net, read_checkpoint(folder.checkpoint))
    run = f"{config.model.name}, encoding={config.encoding['name']}, seed {config.seed}"
    show(experiment, own["prompt"], title=f"{config.task['name']}, {run}")


def look(given: Sequence[str]) -> None:
    """Shows an encoding."""
    own = {key: value for key, _, value in (each.partition("=") for each in given)}
    changes = [each for each in given if each.partition("=")[0] not in ("length", "out")]
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = load(compose("train", changes))
    length = own.get("length", str(config.length.test))
    if not length.isdecimal():
        raise ConfigError(f"length={length}: must be a number of tokens")
    settings = asdict(config)
    run = RunFolder.of(settings).path  # tells all but how ids are given in an evaluation
    place = Path(run.parent.name, f"{run.name}-{evaluation_hash(settings)}-length{int(length)}")
    folder = Path(own.get("out") or Path(config.outputs, "pictures", place))

    from posenc.portrait import portray  # imports torch

    portray(config, length=int(length), folder=folder)


def main(given: Sequence[str]) -> None:
    """Reads key=value arguments and shows."""
    keys = {argument.partition("=")[0] for argument in given}
    (ask if keys & {"run", "prompt"} else look)(given)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, ValueError, AssertionError, OSError), forgiving_output():
        if {"-h", "--help"} & set(sys.argv):
            print(__doc__)
        else:
            main(sys.argv[1:])
