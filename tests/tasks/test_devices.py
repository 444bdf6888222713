"""Every task draws on the device of its generator, here without having a second device."""

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from posenc.seeding import generator
from posenc.tasks.base import Task

FACTORIES = {torch.arange, torch.empty, torch.full, torch.ones, torch.tensor, torch.zeros}
DRAWS = {torch.rand, torch.randint, torch.randperm}
MOVES = {Tensor.to, Tensor.cpu}


class SecondDevice(TorchFunctionMode):
    """Inside, tensors that were made for a device, and what comes of them, count as being on it.

    Those that were made for none are on the CPU; to combine the two is an error, as it would be.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in MOVES:
            result = result.view_as(result)  # another tensor, as it would be
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        there = {is_there(x) for x in given if x.dim() or is_there(x)}
        assert there != {True, False}, f"{func.__name__} combines tensors of two devices"
        moved = func is Tensor.to and any(isinstance(x, torch.device) for x in args)
        if func in DRAWS | FACTORIES:
            moved = isinstance(kwargs.get("device"), torch.device)
            assert moved or func in FACTORIES, f"{func.__name__} draws on no device"
        if (moved or True in there) and func is not Tensor.cpu:
            for x in tree_leaves(result):
                if isinstance(x, Tensor):
                    x.there = True
        return result


def is_there(tensor: Tensor) -> bool:
    return "there" in vars(tensor)


def test_the_second_device_is_another_one():
    here, device = torch.zeros(3), torch.device("cpu")
    with SecondDevice():
        there = torch.arange(3, device=device)
        assert is_there((there + 1)[None].chunk(2)[0])
        assert is_there(here.to(device) + there)
        for combine in (lambda: there + here, lambda: here[there], lambda: there.cpu() * there):
            with pytest.raises(AssertionError, match="of two devices"):
                combine()
        with pytest.raises(AssertionError, match="on no device"):
            torch.rand(3)


def test_a_sample_is_on_the_device_of_its_generator(task: Task):
    for length in task.lengths(1, 20)[-3:]:
        with SecondDevice():
            sample = task.sample(4, length, generator(0, "device", length))
        fields = [field for field in sample if isinstance(field, Tensor)]
        assert all(map(is_there, fields))


def test_so_is_another_order(task: Task):
    for length in task.lengths(1, 20)[-3:]:
        with SecondDevice():
            sample = task.sample(1, length, generator(0, "device", length))
            other = task.reorder(sample.prompt[0], generator(0, "order", length))
        assert is_there(other)
