"""Trained weights, read back without running any code that a file may hold."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from posenc.errors import ConfigError


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint as plain containers and tensors; no code in it is ever run.

    Raises ConfigError where the file is missing or is no such checkpoint.
    """
    try:
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(
            f"{path}: {reason} (overwrite=true trains the run from the start)"
        ) from None


def load_weights(net: nn.Module, checkpoint: dict[str, Any]) -> None:
    """Puts the weights of a training checkpoint into a network of the same configuration."""
    weights = checkpoint["state_dict"]
    net.load_state_dict({name.removeprefix("net."): value for name, value in weights.items()})
