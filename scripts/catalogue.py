"""Writes the tables of README.md and the page of all encodings; run it after adding a choice."""

import argparse

from hydra import compose, initialize_config_dir

from posenc.building import build
from posenc.catalogue import ENCODINGS, classes, document, fill
from posenc.cli import MENDABLE, one_line_errors
from posenc.console import forgiving_output
from posenc.portrait import decoder_only, facts
from posenc.results.by_encoding import first_results, training_steps
from posenc.schema import CONFIGS, PROJECT, Config, load


def configured(name: str) -> Config:
    """The default task and network with an encoding."""
    model = "decoder" if decoder_only(name) else "encoder"
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return load(compose("train", [f"encoding={name}", f"model={model}"]))


def main() -> None:
    """Writes both files."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    configs = {name: configured(name) for name in classes()}
    (task,) = {config.task["name"] for config in configs.values()}
    text = document(
        {name: facts(build(config).net) for name, config in configs.items()},
        first_results(ENCODINGS, task=task),
        training_steps(ENCODINGS),
    )
    readme = PROJECT / "README.md"
    readme.write_text(fill(readme.read_text()))
    (ENCODINGS / "README.md").write_text(text)


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, OSError), forgiving_output():
        main()
