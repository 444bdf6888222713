"""Where a step's time goes, and how fast its matrix products are."""

from collections.abc import Callable, Iterator
from functools import partial
from os import environ
from time import perf_counter

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from posenc.benchmarks.figures import Figure, take
from posenc.benchmarks.loop import bare
from posenc.benchmarks.plan import Plan
from posenc.seeding import generator

SETS = ("task", "data.batch_size", "length", "trainer.max_steps")
CELLS = {
    "64 x 20": ("task=who_bit_whom", "data.batch_size=64", "length={min:19,train:19,test:19}"),
    "8 x 512": ("task=copy", "data.batch_size=8", "length={min:256,train:256,test:256}"),
}
SIZE = 1024
"""Of square matrices, whose product is as fast as the machine is."""
PARTS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm"),
    "attention": ("aten::_scaled_dot_product",),
    "GELU": ("aten::gelu",),
    "layer norms": ("aten::native_layer_norm",),
    "optimizer": ("aten::_fused_adamw",),
}
"""The beginnings of the names of the kernels; all else is copies, small kernels and Python."""


def measure(plan: Plan) -> Iterator[Figure]:
    """The peak is that of float32 products of square matrices, in the threads of the run."""
    environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would tell when it starts and stops
    peaks = [_peak() for _ in range(plan.rounds)]
    yield Figure(f"product of two {SIZE} x {SIZE} matrices", "GFLOP/s", peaks)
    for cell, settings in CELLS.items():
        found = [_step(plan, settings) for _ in range(plan.rounds)]
        for part in (*PARTS, "all else"):
            yield Figure(f"{cell}: {part}", "of a step", [each[part] for each in found])
        rates = [each["rate"] for each in found]
        yield Figure(f"{cell}: its matrix products", "GFLOP/s", rates)
        reached = [rate / peak for rate, peak in zip(rates, peaks, strict=True)]
        yield Figure(f"{cell}: their share of the peak", "", reached)


def _peak() -> float:
    """Of several products the fastest, in 10⁹ operations a second."""
    stream = generator(0, "matrices")
    one, other = (torch.randn(SIZE, SIZE, generator=stream) for _ in range(2))
    return 2e-9 * SIZE**3 / min(_seconds(partial(torch.mm, one, other)) for _ in range(10))


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def _step(plan: Plan, settings: tuple[str, ...]) -> dict[str, float]:
    """Shares of a step, and the rate of its matrix products."""
    steps = plan.size(50, 1)
    loop = bare(plan.config(*settings, f"trainer.max_steps={1000 * steps}"))
    some = partial(take, loop, steps)
    some()
    before = _seconds(some)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        some()
    with FlopCounterMode(display=False) as counter:
        next(loop)
    seconds = (before + _seconds(some)) / 2  # the profiler itself takes some
    kernels = [(event.key, 1e-6 * event.self_cpu_time_total) for event in profiler.key_averages()]
    spent = {
        part: sum(time for key, time in kernels if key.startswith(names))
        for part, names in PARTS.items()
    }
    products = counter.get_flop_counts()["Global"]
    flops = sum(count for kernel, count in products.items() if "mm" in str(kernel))
    shares = {part: time / seconds for part, time in spent.items()}
    rate = 1e-9 * flops * steps / spent["matrix products"]
    return shares | {"all else": 1 - sum(shares.values()), "rate": rate}
