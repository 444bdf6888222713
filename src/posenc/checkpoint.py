"""The trained state of a run: written whole, and read back without running what a file may hold."""

import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from torch import nn

from posenc.errors import ConfigError
from posenc.results.disk import replacing

MEND = "overwrite=true of train.py trains the run from the start"


def write_checkpoint(checkpoint: dict[str, Any], path: Path) -> None:
    """Puts a checkpoint in place, with the name of the run folder that it lies in."""
    content = io.BytesIO()  # torch.save hides what a disk has against a file
    torch.save({**checkpoint, "run": _run(path)}, content)
    with replacing(path) as unfinished:
        unfinished.write_bytes(content.getbuffer())


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint as plain containers and tensors; no code in it is ever run.

    Raises ConfigError where the file is missing, is no such checkpoint, or is that of another run.
    """
    try:
        with ZipFile(path) as parts:  # PyTorch does not look whether a bit has changed
            if (torn := parts.testzip()) is not None:
                raise ValueError(torn)
        checkpoint = dict(torch.load(path, map_location="cpu", weights_only=True))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror} ({MEND})") from None
    except Exception:  # PyTorch raises many kinds, and advises to load without these safeguards
        raise ConfigError(
            f"{path}: damaged, or it holds more than numbers, which is not read ({MEND})"
        ) from None
    weights = checkpoint.get("state_dict")
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise ConfigError(f"{path}: holds no state_dict of tensors ({MEND})")
    if checkpoint.get("run", _run(path)) != _run(path):
        raise ConfigError(f"{path}: is that of {checkpoint['run']}, another run ({MEND})")
    return checkpoint


def _run(path: Path) -> str:
    """Seed and fingerprint, after which the folder around checkpoints/ is named."""
    return path.absolute().parents[1].name


def load_weights(net: nn.Module, path: Path, *, longer: bool = False) -> None:
    """Puts the weights of a checkpoint into a network of the same configuration.

    Where told so, its tables of positions may be `longer` than those of the checkpoint: their
    further rows stay as the seed drew them, and no training has seen them. Raises ConfigError where
    the checkpoint cannot be read, where the weights are those of another network, and where a table
    would be shorter.
    """
    _load(net, read_checkpoint(path), path, longer=longer)


def resumed_step(net: nn.Module, path: Path) -> int:
    """The step from which training goes on, once the weights are in place; they are by now.

    Raises ConfigError unless the checkpoint is one of this network, with all that training needs:
    Lightning takes up one that lacks its counters as if nothing had been trained.
    """
    checkpoint = read_checkpoint(path)
    _load(net, checkpoint, path)
    try:
        step = checkpoint["global_step"]
        loop = checkpoint["loops"]["fit_loop"]
        counted = loop["epoch_loop.manual_optimization.optim_step_progress"]["total"]["completed"]
        (schedule,), (optimizer,) = checkpoint["lr_schedulers"], checkpoint["optimizer_states"]
        moved = sum(len(group["params"]) for group in optimizer["param_groups"])
        whole = moved == len(list(net.parameters())) and len(optimizer["state"]) > 0
        whole = whole and step == counted == schedule["last_epoch"] and type(step) is int
    except (AttributeError, KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise ConfigError(f"{path}: lacks what training goes on from ({MEND})")
    return int(step)


def _load(net: nn.Module, checkpoint: dict[str, Any], path: Path, *, longer: bool = False) -> None:
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
                f"{path}: {name} has shape {shapes[1]}, and in this network {shapes[0]}: "
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
