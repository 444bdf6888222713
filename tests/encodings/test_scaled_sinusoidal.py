"""The scaled sinusoid: one learned number, and x-transformers' implementation."""

import pytest
import torch

from posenc.encodings.scaled_sinusoidal import ScaledSinusoidal
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.errors import ConfigError
from posenc.shapes import Shape

SHAPE = Shape(64, 4, 1, causal=False)
NOTHING = torch.zeros(1, 40, 64)
IDS = torch.arange(40)[None]


def test_starts_as_the_sinusoid_over_the_root_of_the_width():
    encoding = ScaledSinusoidal(SHAPE)
    assert [tuple(parameter.shape) for parameter in encoding.parameters()] == [()]
    expected = Sinusoidal(SHAPE).embed(NOTHING, IDS) / 8
    torch.testing.assert_close(encoding.embed(NOTHING, IDS), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_equals_x_transformers_after_a_permutation():
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    encoding, reference = ScaledSinusoidal(SHAPE), ScaledSinusoidalEmbedding(64)
    assert encoding.scale == reference.scale
    halves = torch.arange(64).view(32, 2).T.flatten()
    for scale in (encoding.scale.item(), 1.5):
        with torch.no_grad():
            encoding.scale.fill_(scale)
            reference.scale.fill_(scale)
        added = encoding.embed(NOTHING, IDS)[0, :, halves]
        torch.testing.assert_close(added, reference(NOTHING), atol=1e-5, rtol=0)


def test_refuses_a_base_that_is_not_positive():
    with pytest.raises(ConfigError, match=r"encoding\.base=-1"):
        ScaledSinusoidal(SHAPE, base=-1)
