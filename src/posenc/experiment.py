"""What an experiment is made of, once its configuration has been read."""

from dataclasses import dataclass

from posenc.errors import ConfigError
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions
from posenc.tasks.base import Task


@dataclass(frozen=True)
class Experiment:
    """A task, a source of positions and a network, and the lengths they are used at."""

    task: Task
    positions: Positions
    net: Transformer
    trained: list[int]
    evaluated: list[int]
    probed: list[int]

    def check_room(self, tokens: int, *, trained: int = 0) -> None:
        """Raises ConfigError where the encoding's table lacks a row that the positions may ask for.

        That is for so many tokens in evaluation, or for `trained` tokens in training.
        """
        rows = self.net.encoding.max_length
        at_eval, in_training = self.positions.bound_at_eval(tokens), self.positions.bound(trained)
        needed, tokens = max((at_eval, tokens), (in_training, trained))
        if rows is not None and needed > rows:
            encoding, positions = map(_file, (self.net.encoding, self.positions))
            raise ConfigError(
                f"encoding.max_length={rows}: {encoding} needs {needed} rows for {tokens} tokens "
                f"of prompt and answer with positions={positions}: set encoding.max_length="
                f"{needed} before training, or shorten the sequences"
            )


def _file(part: object) -> str:
    """The name of the file that a part's class stands in, as a user knows it."""
    return type(part).__module__.rpartition(".")[2]
