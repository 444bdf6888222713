"""The sinusoid against its formula, and the two properties that make it work."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from posenc.encodings.sinusoidal import Sinusoidal
from posenc.errors import ConfigError
from posenc.shapes import Shape


def rows(ids: torch.Tensor, width: int, dtype=torch.float32) -> torch.Tensor:
    """(T,D): the vectors that are added, bare."""
    encoding = Sinusoidal(Shape(width, 1, 1, causal=False)).to(dtype)
    return encoding.embed(torch.zeros(1, len(ids), width, dtype=dtype), ids[None])[0]


def twin(ids: np.ndarray, width: int) -> np.ndarray:
    """The formula of 2017, channel by channel, in NumPy and float64."""
    table = np.zeros((len(ids), width))
    for channel in range(width):
        phase = ids / 10000 ** (2 * (channel // 2) / width)
        table[:, channel] = np.cos(phase) if channel % 2 else np.sin(phase)
    return table


@pytest.mark.parametrize(("positions", "width"), [(10, 16), (5000, 512), (4096, 5), (4096, 1)])
def test_equals_the_formula_in_float64(positions, width):
    table = rows(torch.arange(positions), width).numpy()
    assert np.abs(table - twin(np.arange(positions), width)).max() < 1e-6


def test_is_exact_a_million_positions_away():
    far = np.arange(999_000, 1_000_001)
    assert np.abs(rows(torch.from_numpy(far), 64).numpy() - twin(far, 64)).max() < 1e-6


def test_bfloat16_rounds_the_sum_and_not_the_phases():
    table = rows(torch.arange(4096), 64, torch.bfloat16).double().numpy()
    assert np.abs(table - twin(np.arange(4096), 64)).max() <= 2e-3


def test_autocast_does_not_touch_the_phases():
    with torch.autocast("cpu", torch.bfloat16):
        table = rows(torch.arange(4096), 64).double().numpy()
    assert np.abs(table - twin(np.arange(4096), 64)).max() < 1e-6


def test_hand_computed_values():
    expected = torch.tensor([0.841471, 0.540302, 0.00999983, 0.99995])
    torch.testing.assert_close(rows(torch.arange(2), 4)[1], expected, atol=1e-6, rtol=0)
    assert rows(torch.arange(1), 5)[0].tolist() == [0, 1, 0, 1, 0]


def test_every_row_of_a_batch_gets_all_positions():
    encoding = Sinusoidal(Shape(16, 1, 1, causal=False))
    x = torch.randn(2, 7, 16)
    added = encoding.embed(x, torch.arange(7)[None]) - x
    for row in added:
        torch.testing.assert_close(row, rows(torch.arange(7), 16), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("positions", "width"), [(10, 16), (5000, 512)])
def test_every_position_has_a_vector_of_its_own(positions, width):
    table = rows(torch.arange(positions), width).double()
    closest = torch.cdist(table, table).fill_diagonal_(math.inf).min()
    assert closest > 0.1


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_a_shift_is_one_linear_map_wherever_it_starts(shift):
    """The map turns the pair (sin, cos) of every frequency by shift * frequency."""
    width, positions = 16, 2000
    turns = []
    for pair in range(width // 2):
        angle = shift / 10000 ** (2 * pair / width)
        turns.append([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    shift_map = torch.block_diag(*torch.tensor(turns, dtype=torch.float64))
    table = rows(torch.arange(positions + shift), width, torch.float64)
    torch.testing.assert_close(table[:positions] @ shift_map.T, table[shift:], atol=1e-9, rtol=0)


def test_used_alone_on_a_batch_of_embedded_words():
    embedding = nn.Embedding(10_000, 512)
    words = torch.randint(10_000, (1, 20))
    encoding = Sinusoidal(Shape(width=512, heads=8, layers=6, causal=False))
    embedded = embedding(words)
    encoded = encoding.embed(embedded, torch.arange(20)[None])
    assert encoded.shape == (1, 20, 512)
    assert not list(encoding.parameters())
    added = (encoded - embedded)[0].detach().numpy()
    assert np.abs(added - twin(np.arange(20), 512)).max() < 1e-5


@pytest.mark.parametrize("base", [0.0, -1.0, math.nan])
def test_refuses_a_base_that_is_not_positive(base):
    with pytest.raises(ConfigError, match=r"encoding\.base="):
        Sinusoidal(Shape(4, 1, 1, causal=False), base=base)
