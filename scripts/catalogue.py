"""Writes the tables of README.md and the page of all encodings; run it after adding a choice."""

from hydra import compose, initialize_config_dir

import posenc.cli  # noqa: F401  registers what configs/train.yaml asks for
from posenc.building import build
from posenc.catalogue import ENCODINGS, Facts, classes, document, fill
from posenc.portrait import decoder_only, facts
from posenc.schema import CONFIGS, PROJECT, load


def known(name: str) -> Facts:
    """What the class of an encoding knows, in the default network."""
    model = "decoder" if decoder_only(name) else "encoder"
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = load(compose("train", [f"encoding={name}", f"model={model}"]))
    return facts(build(config).net)


if __name__ == "__main__":
    readme = PROJECT / "README.md"
    readme.write_text(fill(readme.read_text()))
    ENCODINGS.mkdir(parents=True, exist_ok=True)
    text = document({name: known(name) for name in classes()}, ENCODINGS)
    (ENCODINGS / "README.md").write_text(text)
