"""A training step against that of other libraries of the same shape."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from posenc.benchmarks.figures import Figure, in_turn, ratios
from posenc.benchmarks.plan import Plan
from posenc.building import batches, build, optimizer_maker
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.errors import ConfigError
from posenc.experiment import Experiment
from posenc.metrics import answer_loss
from posenc.model.layout import arrange
from posenc.schema import Config

SETS = ("task", "data.batch_size", "length.min", "length.train", "length.test", "encoding")
CELLS = {
    "64 x 20": ("task=who_bit_whom", "data.batch_size=64", 20),
    "64 x 64": ("task=who_bit_whom", "data.batch_size=64", 64),
    "64 x 64, half of it answers": ("task=copy", "data.batch_size=64", 64),
    "8 x 512, half of it answers": ("task=copy", "data.batch_size=8", 512),
}
"""Problems x tokens: a task, a batch, and the tokens of a problem and its answer."""
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "rope": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True},
    "t5": {"rel_pos_bias": True},
}
"""An encoding, and what x-transformers calls it."""


def measure(plan: Plan) -> Iterator[Figure]:
    """Seconds of theirs over seconds of ours: more than one is faster than they are.

    Raises ConfigError, before anything is measured, where they are not installed.
    """
    if find_spec("x_transformers") is None:
        raise ConfigError(
            "rivals: needs x-transformers; pip install -c constraints.txt -e '.[dev]' brings it; "
            "or name other benchmarks"
        )
    return _measured(plan)


def _measured(plan: Plan) -> Iterator[Figure]:
    steps = plan.size(10, 1)
    for cell, (task, batch, tokens) in CELLS.items():
        ours = {
            name: plan.config(task, batch, *_length(task, tokens), f"encoding={name}")
            for name in (*OTHERS, "sinusoidal")
        }
        works = {name: partial(_repeat, steps, _own(config)) for name, config in ours.items()}
        for name in OTHERS:
            for flash in (True, False):
                if not (flash and name == "t5"):  # which x-transformers refuses
                    rival = partial(_x_transformers, **OTHERS[name], attn_flash=flash)
                    works[f"{name}, {flash}"] = partial(_repeat, steps, _their(ours[name], rival))
        torchs = _their(ours["sinusoidal"], _torch)
        works["torch"] = partial(_repeat, steps, torchs)
        seconds = in_turn(works, plan.rounds)
        for name in OTHERS:
            rivals = [seconds[key] for key in seconds if key.startswith(f"{name}, ")]
            fastest = min(rivals, key=sum)
            found = ratios(fastest, seconds[name])
            yield Figure(f"x-transformers / posenc, {cell}, {name}", "", found, at_least=1.25)
        found = ratios(seconds["torch"], seconds["sinusoidal"])
        setting = f"nn.TransformerEncoder / posenc, {cell}, sinusoidal"
        yield Figure(setting, "", found, at_least=1.25)


def _length(task: str, tokens: int) -> tuple[str, ...]:
    """The settings with which problem and answer have so many tokens."""
    length = tokens // 2 if task == "task=copy" else tokens - 1
    return (f"length.min={length}", f"length.train={length}", f"length.test={length}")


def _repeat(steps: int, step: Callable[[], None]) -> None:
    for _ in range(steps):
        step()


def _own(config: Config) -> Callable[[], None]:
    experiment = build(config)
    ids = torch.arange(_tokens(config, experiment).shape[1])[None]

    def answers(tokens: Tensor, answers: int) -> Tensor:
        return experiment.net(tokens, ids, answers)

    return _step(config, experiment, experiment.net, answers)


def _their(config: Config, make: Callable[[Experiment, int], nn.Module]) -> Callable[[], None]:
    experiment = build(config)
    net = make(experiment, _tokens(config, experiment).shape[1])

    def answers(tokens: Tensor, answers: int) -> Tensor:
        return net(tokens)[:, -answers:]

    return _step(config, experiment, net, answers)


def _tokens(config: Config, experiment: Experiment) -> Tensor:
    return arrange(batches(config, experiment)[0], ask=experiment.net.ask, causal=False)


def _step(
    config: Config,
    experiment: Experiment,
    net: nn.Module,
    answers: Callable[[Tensor, int], Tensor],
) -> Callable[[], None]:
    """One step on the first batch, over and over."""
    batch, tokens = batches(config, experiment)[0], _tokens(config, experiment)
    optimizer, _ = optimizer_maker(config)(net)

    def step() -> None:
        optimizer.zero_grad()
        answer_loss(answers(tokens, batch.answer.shape[1]), batch.answer, batch.scored).backward()
        clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return step


def _x_transformers(experiment: Experiment, tokens: int, **settings: Any) -> nn.Module:
    from x_transformers import Encoder, TransformerWrapper

    shape = experiment.net.shape
    layers = Encoder(
        dim=shape.width, depth=shape.layers, heads=shape.heads, attn_dim_head=shape.head_width,
        rotary_emb_dim=shape.head_width, verbose=False, **settings,
    )  # fmt: skip
    return TransformerWrapper(
        num_tokens=experiment.net.ask + 1,
        max_seq_len=tokens,
        attn_layers=layers,
        use_abs_pos_emb=False,
    )


def _torch(experiment: Experiment, tokens: int) -> nn.Module:
    return TorchEncoder(experiment, tokens)


class TorchEncoder(nn.Module):
    """nn.TransformerEncoder as its documentation has it, with a table of sines and cosines."""

    def __init__(self, experiment: Experiment, tokens: int) -> None:
        super().__init__()
        shape = experiment.net.shape
        self.embedding = nn.Embedding(experiment.net.ask + 1, shape.width)
        layer = nn.TransformerEncoderLayer(
            shape.width, shape.heads, 4 * shape.width, dropout=0.0, activation="gelu",
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.layers = nn.TransformerEncoder(
            layer, shape.layers, norm=nn.LayerNorm(shape.width), enable_nested_tensor=False
        )
        self.unembedding = nn.Linear(shape.width, experiment.net.ask)
        assert isinstance(experiment.net.encoding, Sinusoidal)
        self.register_buffer("table", experiment.net.encoding.waves(torch.arange(tokens)).float())

    def forward(self, tokens: Tensor) -> Tensor:
        """(B,T) -> (B,T,V)."""
        return self.unembedding(self.layers(self.embedding(tokens) + self.table))
