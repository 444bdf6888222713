"""How Lightning writes and reads a checkpoint: as everything else in this project does."""

from pathlib import Path
from typing import Any

from pytorch_lightning.plugins.io import CheckpointIO

from posenc.checkpoint import read_checkpoint, write_checkpoint


class Checkpoints(CheckpointIO):
    """Whole or not at all, and no code.

    Lightning's own writes elsewhere first and copies, so a full disk keeps two halves.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Called in the first of several ranks alone."""
        write_checkpoint(checkpoint, Path(path))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Raises ConfigError where it cannot be read."""
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """No more is kept than one, which is replaced."""
        Path(path).unlink()
