"""Writes the tables of README.md and the pages of encodings and tasks; run it after adding one."""

import argparse
import sys
from dataclasses import asdict

from hydra import compose, initialize_config_dir

from posenc.building import build, make_task
from posenc.catalogue import ENCODINGS, SPEED, TASKS, classes, fill
from posenc.choosing import CONFIGS, PROJECT
from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.marks import renewed
from posenc.pages import TaskFacts, encodings_page, tasks_page
from posenc.portrait import facts, model_for
from posenc.results.disk import replacing
from posenc.results.identity import identity
from posenc.results.kept import batch_costs, first_results, training_steps
from posenc.results.studies import index
from posenc.schema import Config, load

LENGTH = 20
"""At which chance is shown."""


def configured(*overrides: str) -> Config:
    """The defaults, but for these."""
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return load(compose("train", list(overrides)))


def of_encodings() -> str:
    """The page of all encodings, on the default task."""
    configs = {
        name: configured(f"encoding={name}", f"model={model_for(name)}") for name in classes()
    }
    (task,) = {config.task["name"] for config in configs.values()}
    names = {identity(asdict(config))["encoding"]: name for name, config in configs.items()}
    kept = first_results(ENCODINGS, task=task)
    return encodings_page(
        {name: facts(build(config).net) for name, config in configs.items()},
        {(names[own], model): first for (own, model), first in kept.items() if own in names},
        training_steps(SPEED),
    )


def of_tasks() -> str:
    """The page of all tasks."""
    found = {}
    for name in classes("task"):
        task = make_task(configured(f"task={name}"))
        length = task.lengths(1, LENGTH)[-1]
        found[name] = TaskFacts(*task.chance(length), task.chance_error > 0, task.order_matters)
    return tasks_page(found, batch_costs(SPEED), length=LENGTH)


def main() -> None:
    """Writes all three files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    texts = {ENCODINGS / "README.md": of_encodings(), TASKS / "README.md": of_tasks()}
    readme = PROJECT / "README.md"
    texts[readme] = renewed(fill(readme.read_text()), "studies", index(PROJECT / "experiments"))
    for file, text in texts.items():
        file.parent.mkdir(exist_ok=True)
        with replacing(file.resolve()) as unfinished:
            unfinished.write_text(text)
    print(f"wrote {', '.join(map(str, texts))}", file=sys.stderr)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
