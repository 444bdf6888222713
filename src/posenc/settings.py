"""The keys of a configuration and their types; the defaults stand in configs/ alone."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Length:
    min: int
    train: int
    test: int


@dataclass
class Data:
    batch_size: int
    curriculum: str
    workers: int


@dataclass
class Model:
    name: str
    causal: bool
    width: int
    heads: int
    layers: int
    dropout: float


@dataclass
class Optimizer:
    name: str
    lr: float
    betas: list[float]
    weight_decay: float
    warmup: float


@dataclass
class Trainer:
    max_steps: int
    gradient_clip_val: float | None
    accumulate_grad_batches: int
    accelerator: str
    devices: int
    compile: bool
    precision: str
    log_every_n_steps: int
    enable_progress_bar: bool


@dataclass
class Eval:
    samples: int
    lengths: list[int] | None
    second: list[int] | None
    seed: int
    probe_every: int
    probe_lengths: list[int] | None
    probe_samples: int


@dataclass
class Checkpoint:
    every: int


@dataclass
class Config:
    task: dict[str, Any]
    encoding: dict[str, Any]
    positions: dict[str, Any]
    model: Model
    optimizer: Optimizer
    trainer: Trainer
    eval: Eval
    logger: dict[str, Any]
    seed: int
    length: Length
    data: Data
    threads: int
    checkpoint: Checkpoint
    outputs: str
    overwrite: bool
