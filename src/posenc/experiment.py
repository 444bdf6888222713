"""What an experiment is made of, once its configuration has been read."""

from dataclasses import dataclass

from posenc.errors import ConfigError
from posenc.model.transformer import Transformer
from posenc.positions.base import Positions, Slots
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

    @property
    def tested(self) -> Task:
        """The task as the network is tested on it."""
        return self.task.unseen(self.trained)

    def check_room(self, tested: Slots, trained: Slots | None = None) -> None:
        """Raises ConfigError where the encoding has no use for an id that the positions may give.

        That is to the longest sequences `tested`, or to the longest that are `trained`.
        """
        whole = self.net.encoding
        parts = zip(whole.parts, self.positions.sources, strict=True)
        for number, (encoding, positions) in enumerate(parts):
            names = f"positions={_file(positions)} and encoding={_file(encoding)}"
            if positions.real and not encoding.real_ids:
                raise ConfigError(f"{names}: real numbers choose no row of a table")
            needs = [(positions.bound_at_eval(tested), tested.tokens)]
            if trained is not None:
                needs.append((positions.bound(trained), trained.tokens))
            rows, (needed, tokens) = encoding.max_length, max(needs)
            if rows is not None and needed > rows:
                where, remedy = (
                    ("encoding", f"set encoding.max_length={needed}")
                    if encoding is whole
                    else (f"encoding.parts.{number}", f"give this part max_length={needed}")
                )
                raise ConfigError(
                    f"{where}.max_length={rows}: {names} need {needed} rows for {tokens} tokens of "
                    f"prompt and answer: {remedy}, or shorten the sequences"
                )


def _file(part: object) -> str:
    """The name of the file that a part's class stands in, as a user knows it."""
    return type(part).__module__.rpartition(".")[2]
