"""Look at a task or at an encoding before any training, or ask a finished run.

    python scripts/show.py task=addition
    python scripts/show.py task=addition task.base=2 positions=abacus model=decoder length=8
    python scripts/show.py encoding=fire
    python scripts/show.py encoding=fire encoding.threshold=50 model=decoder length=200 out=DIR
    python scripts/show.py run=FOLDER prompt="the man bit the old dog"

With task=, prints problems of one `length`, token by token: position ids as in training, what is
asked and what of it is scored. With encoding=, prints what the encoding is, and draws what it does
to a text into `out`, unless given a folder of these settings below outputs/pictures. The text is
the longest problem of the task that has no more than `length` tokens, as many as length.test says
unless given. Any other key is one of train.py. With run=, prints what a trained network answers,
how sure it is, and which tokens it looked at, for a prompt and for the same tokens in another
order.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from posenc.console import forgiving_output, quiet_interrupts

with quiet_interrupts():  # the rest takes a moment
    from hydra import compose, initialize_config_dir

    from posenc.choosing import CONFIGS
    from posenc.cli import MENDABLE, one_line_errors
    from posenc.errors import ConfigError
    from posenc.importing import to_stay
    from posenc.reopen import arguments, reopen
    from posenc.results.identity import asked, evaluation_hash, fingerprint
    from posenc.results.records import RunFolder
    from posenc.schema import Config, load

LONGEST = 1000
"""Of the problems that are shown."""


def ask(given: Sequence[str]) -> None:
    """Shows what a finished run makes of a prompt."""
    # Without a prompt it is empty, and refused by the network that knows an example of one.
    own, changes = arguments(["prompt=", *given], ["run", "prompt"])
    config, folder = reopen(own["run"], changes)

    with to_stay("torch"):
        from posenc.building import build
        from posenc.checkpoint import load_weights
        from posenc.showing import show

    experiment = build(config)
    tried_out = fingerprint(asdict(config)) != folder.fingerprint
    load_weights(experiment.net, folder.checkpoint, longer=tried_out)
    run = f"{config.model.name}, encoding={config.encoding['name']}, seed {config.seed}"
    show(experiment, own["prompt"], title=f"{config.task['name']}, {run}")


def look(given: Sequence[str]) -> None:
    """Shows an encoding."""
    own, config = settings_of(given, "length", "out")
    length = own.get("length", str(config.length.test))
    if not length.isdecimal():
        raise ConfigError(f"length={length}: must be a number of tokens")
    settings = asdict(config)
    run = RunFolder.of(settings).path  # tells all but how ids are given in an evaluation
    given = evaluation_hash(asked(settings))
    place = Path(run.parent.name, f"{run.name}-{given}-length{int(length)}")
    folder = Path(own.get("out") or Path(config.outputs, "pictures", place))

    with to_stay("torch"):
        from posenc.portrait import portray

    portray(config, length=int(length), folder=folder)


def pose(given: Sequence[str]) -> None:
    """Shows problems of a task."""
    own, config = settings_of(given, "length")

    with to_stay("torch"):
        from posenc.building import build
        from posenc.catalogue import explained, page
        from posenc.problems import show_problems

    experiment, name = build(config), str(config.task["name"])
    length, some = own.get("length", str(experiment.trained[0])), experiment.trained[:4]
    if not length.isdecimal() or not experiment.task.lengths(int(length), int(length)):
        raise ConfigError(f"length={length}: must be a length of {name}, such as {some}")
    if int(length) > LONGEST:
        raise ConfigError(f"length={length}: must be at most {LONGEST} to be shown")
    show_problems(
        experiment,
        int(length),
        title=f"task={name}, length {length}, {config.model.name}, "
        f"positions={config.positions['name']}, seed {config.seed}",
        text="\n".join([page("task", name).own, "", *explained("task", name)]).rstrip(),
        seed=config.seed,
    )


def settings_of(given: Sequence[str], *own: str) -> tuple[dict[str, str], Config]:
    """Splits key=value arguments into those of the script and the settings that the others make."""
    found = {key: value for key, _, value in (each.partition("=") for each in given)}
    changes = [each for each in given if each.partition("=")[0] not in own]
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return {key: found[key] for key in own if key in found}, load(compose("train", changes))


def main(given: Sequence[str]) -> None:
    """Reads key=value arguments and shows."""
    keys = {argument.partition("=")[0] for argument in given}
    if keys & {"run", "prompt"}:
        ask(given)
    elif "task" in keys and "encoding" not in keys:
        pose(given)
    else:
        look(given)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, ValueError, AssertionError, OSError), forgiving_output():
        if {"-h", "--help"} & set(sys.argv):
            print(__doc__)
        else:
            main(sys.argv[1:])
