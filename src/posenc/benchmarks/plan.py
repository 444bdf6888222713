"""How much is measured, and with which settings."""

from dataclasses import dataclass

from hydra import compose, initialize_config_dir

from posenc.choosing import CONFIGS
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

    def config(self, *own: str) -> Config:
        """With `own` settings beside those of the command line, which are others.

        Raises ConfigError, or Hydra's error, where they cannot be.
        """
        mine = {each.partition("=")[0] for each in own}
        for each in self.overrides:
            if each.partition("=")[0] in mine:
                raise ConfigError(f"{each}: is set by the benchmark; leave it out")
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            return load(compose("train", [*own, *self.overrides]))
