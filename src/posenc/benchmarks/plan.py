"""How much is measured, and with which settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser

from posenc.choosing import CONFIGS, choices
from posenc.errors import ConfigError
from posenc.schema import Config, load


@dataclass(frozen=True)
class Plan:
    """Rounds of everything, settings of train.py, and whether it is only seen to run."""

    rounds: int
    overrides: tuple[str, ...] = ()
    smoke: bool = False

    def size(self, usual: int, smoke: int) -> int:
        """Of anything that is done at two sizes."""
        return smoke if self.smoke else usual

    def refuse(self, name: str, keys: Iterable[str]) -> None:
        """Raises ConfigError where the command line sets one of `keys`, which a benchmark sets."""
        for override, own in product(self.overrides, (*keys, "outputs")):
            if _meet(override.partition("=")[0], own):
                raise ConfigError(f"{override}: {name} sets {own} itself; leave it out")

    def config(self, *own: str) -> Config:
        """With `own` settings before those of the command line.

        Raises ConfigError, or Hydra's error, where they cannot be.
        """
        for override in OverridesParser.create().parse_overrides(list(self.overrides)):
            if override.is_sweep_override():
                raise ConfigError(f"{override.input_line}: choose one value; nothing is swept here")
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            return load(compose("train", [*own, *self.overrides]))


def _meet(one: str, other: str) -> bool:
    """Whether two keys set the same: a mapping has its parts, and a group is chosen by its name."""
    whole, part = sorted((one, other), key=len)
    return whole == part or (part.startswith(f"{whole}.") and not choices(whole))
