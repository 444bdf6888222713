"""Networks with every encoding of the catalogue, and with toys that use hooks it may not."""

from collections.abc import Callable

import pytest
import torch
from catalogue import CLASSES, stir
from torch import Tensor, nn

from posenc.encodings.base import Encoding
from posenc.experiment import Experiment
from posenc.model.transformer import Transformer
from posenc.shapes import Shape

SYMBOLS = 7


class ClippedRelation(Encoding):
    """Content meets the distance, clipped at 2, as in arXiv 1803.02155 (keys alone)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.relations = nn.Embedding(5, shape.head_width)

    def prepare(self, query_ids: Tensor, key_ids: Tensor) -> Tensor:
        ahead = key_ids[:, None, :] - query_ids[:, :, None]
        return self.relations(ahead.clamp(-2, 2) + 2)

    def score(self, logits, q, k, tables, visible):
        return logits + (q[:, :, :, None] * tables[:, None]).sum(-1) * self.shape.head_width**-0.5


class PastSum(ClippedRelation):
    """Also sums over what a query sees, so it is wrong wherever `visible` is."""

    def score(self, logits, q, k, tables, visible):
        gates = logits.sigmoid()
        if visible is not None:
            gates = gates * visible
        return super().score(logits, q, k, tables, visible) + gates.sum(-1, keepdim=True) * gates


class RelationOfEveryLayer(ClippedRelation):
    per_layer = True


class Widening(Encoding):
    """Queries and keys leave `rotate` three times as wide; the scale must not follow."""

    def rotate(self, q: Tensor, k: Tensor, tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        own, others = (ids[:, None, :, None].to(q.dtype) / 5 for ids in tables)
        return torch.cat([q, q * own, q], -1), torch.cat([k, k * others, k.roll(1, -1)], -1)


TOYS = {toy.__name__: toy for toy in (ClippedRelation, PastSum, RelationOfEveryLayer, Widening)}


@pytest.fixture(params=[*CLASSES, *TOYS])
def any_encoding(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def network(built: Callable[..., Experiment]) -> Callable[..., Transformer]:
    """(name, model, layers) -> a small float32 network with that encoding, half trained, or toy."""

    def make(name: str, model: str, layers: int = 2) -> Transformer:
        if name not in TOYS:
            net = built(
                f"encoding={name}", f"model={model}", f"model.layers={layers}", "task=reverse",
                f"task.symbols={SYMBOLS}",
            ).net  # fmt: skip
            stir(net.encodings)
            return net
        shape = Shape(width=16, heads=2, layers=layers, causal=model == "decoder")
        toy = TOYS[name]
        with torch.random.fork_rng():
            torch.manual_seed(0)
            encodings = [toy(shape) for _ in range(layers if toy.per_layer else 1)]
            return Transformer(shape, SYMBOLS, encodings)

    return make


@pytest.fixture
def draw() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(params=["shared", "own"])
def ids(request: pytest.FixtureRequest, draw: torch.Generator) -> Tensor:
    """(1,8) ids that all rows share, or (3,8) sorted ids with gaps, another set in every row."""
    if request.param == "shared":
        return torch.arange(8)[None]
    return torch.rand(3, 40, generator=draw).argsort(-1)[:, :8].sort(-1).values
