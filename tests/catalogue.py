"""What configs/ offers, as tests go through it."""

from importlib import import_module
from typing import Any, TypeVar

import torch
from torch import nn

from posenc.catalogue import classes
from posenc.choosing import defaults_of
from posenc.positions.base import Positions

Module = TypeVar("Module", bound=nn.Module)
CLASSES = classes()
"""Encodings that are no alias of another."""


def source(name: str, **settings: Any) -> Positions:
    """The source of positions of that name, with these settings and the defaults of its class."""
    module, _, cls = defaults_of("positions", name)["_target_"].rpartition(".")
    made: Positions = getattr(import_module(module), cls)(**settings)
    return made


def stir(module: Module) -> Module:
    """Moves every parameter, always alike, so that what starts at zero acts; returns the module."""
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
            parameter.add_(0.1 * noise.to(parameter.dtype))
    return module
