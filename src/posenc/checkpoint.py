"""Trained weights, read back without running any code that a file may hold."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from posenc.errors import ConfigError

MEND = "overwrite=true of train.py trains the run from the start"


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint as plain containers and tensors; no code in it is ever run.

    Raises ConfigError where the file is missing or is no such checkpoint.
    """
    try:
        checkpoint = dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(f"{path}: {reason} ({MEND})") from None
    weights = checkpoint.get("state_dict")
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise ConfigError(f"{path}: holds no state_dict of tensors ({MEND})")
    return checkpoint


def load_weights(net: nn.Module, checkpoint: dict[str, Any], *, longer: bool = False) -> None:
    """Puts the weights of a training checkpoint into a network of the same configuration.

    Where told so, its tables of positions may be `longer` than those of the checkpoint: their
    further rows stay as the seed drew them, and no training has seen them. Raises ConfigError where
    the weights are those of another network, and where a table would be shorter.
    """
    weights = {
        str(key).removeprefix("net."): each for key, each in checkpoint["state_dict"].items()
    }
    own = net.state_dict()
    for name in _tables(net) & weights.keys() if longer else ():
        ours, theirs = own[name], weights[name]
        if ours.shape[1:] != theirs.shape[1:]:
            continue  # refused below
        if len(ours) < len(theirs):
            raise ConfigError(
                f"encoding: max_length={len(ours)} is less than the {len(theirs)} rows that were "
                "trained; name more, or leave it out"
            )
        weights[name] = torch.cat([theirs, ours[len(theirs) :]])
    for name in own | weights:
        shapes = [tuple(each[name].shape) if name in each else None for each in (own, weights)]
        if shapes[0] != shapes[1]:
            raise ConfigError(
                f"checkpoint: {name} has shape {shapes[1]}, and in this network {shapes[0]}: "
                f"it belongs to another run ({MEND})"
            )
    net.load_state_dict(weights)


def _tables(net: nn.Module) -> set[str]:
    """The names of weights that have a row for every position, up to a `max_length`."""
    return {
        f"{place}.{name}.weight"
        for place, module in net.named_modules(remove_duplicate=False)
        for name, child in module.named_children()
        if isinstance(child, nn.Embedding)
        and child.num_embeddings == getattr(module, "max_length", None)
    }
