"""Linear, NTK-aware and YaRN scaling: other implementations, and plain RoPE in training."""

import math

import pytest
import torch

from posenc.encodings.rope import RoPE
from posenc.encodings.rope_linear import PositionInterpolation
from posenc.encodings.rope_ntk import NTKAwareRoPE
from posenc.encodings.scaled_rope import ScaledRoPE
from posenc.encodings.yarn import YaRN
from posenc.errors import ConfigError
from posenc.shapes import Shape

SCALED = [PositionInterpolation, NTKAwareRoPE, YaRN]
IDS = torch.arange(40)[None]


def shape(head_width: int) -> Shape:
    return Shape(2 * head_width, 2, 1, causal=True)


def heads(width: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 2, 40, width, generator=draw)


def turn(encoding: RoPE, q: torch.Tensor, k: torch.Tensor):
    return encoding.rotate(q, k, encoding.prepare(IDS, IDS))


def frequencies(encoding: RoPE) -> list[float]:
    return encoding.frequencies(torch.device("cpu")).tolist()


def llama(width: int, q: torch.Tensor, k: torch.Tensor, **rope: object):
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama

    config = LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        max_position_embeddings=10**6,
        rope_parameters={"rope_theta": 10000.0, **rope},
    )
    tables = modeling_llama.LlamaRotaryEmbedding(config)(q, IDS.expand(3, -1))
    return modeling_llama.apply_rotary_pos_emb(q, k, *tables)


@pytest.mark.parametrize("cls", SCALED)
def test_is_plain_rope_in_training_and_without_a_factor(cls):
    q, k = heads(16)
    expected = turn(RoPE(shape(16)), q, k)
    for encoding in (cls(shape(16), factor_at_eval=5.0), cls(shape(16)).eval()):
        torch.testing.assert_close(turn(encoding, q, k), expected, atol=0, rtol=0)
    scaled = turn(cls(shape(16), factor_at_eval=5.0).eval(), q, k)
    assert (scaled[0] - expected[0]).abs().max() > 0.1


@pytest.mark.parametrize("factor", [1.0, 2.5, 25.0])
def test_linear_equals_llama(factor):
    q, k = heads(16)
    encoding = PositionInterpolation(shape(16), factor_at_eval=factor).eval()
    expected = llama(16, q, k, rope_type="linear", factor=factor)
    torch.testing.assert_close(turn(encoding, q, k), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("width", [8, 16, 64])
@pytest.mark.parametrize("length", [20, 100, 2048])
@pytest.mark.parametrize("factor", [1.0, 2.5, 25.0])
@pytest.mark.filterwarnings("ignore:.*factor:UserWarning")
def test_yarn_equals_llama(width, length, factor):
    q, k = heads(width)
    encoding = YaRN(shape(width), factor_at_eval=factor, trained_length=length).eval()
    expected = llama(
        width, q, k, rope_type="yarn", factor=factor, original_max_position_embeddings=length
    )
    torch.testing.assert_close(turn(encoding, q, k), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("width", [4, 16, 64])
@pytest.mark.parametrize("factor", [1.0, 2.5, 25.0])
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_ntk_equals_two_libraries(width, factor):
    from rotary_embedding_torch import RotaryEmbedding
    from x_transformers.x_transformers import RotaryEmbedding as XRotaryEmbedding

    ours = frequencies(NTKAwareRoPE(shape(width), factor_at_eval=factor).eval())
    first = RotaryEmbedding(width, theta_rescale_factor=factor).freqs.tolist()
    second = XRotaryEmbedding(width, base_rescale_factor=factor).inv_freq.tolist()
    assert ours == pytest.approx(first, abs=1e-7)
    assert ours == pytest.approx(second, abs=1e-7)


def test_ntk_leaves_the_fastest_pair_and_slows_the_slowest_by_the_factor():
    plain = frequencies(RoPE(shape(16)))
    scaled = frequencies(NTKAwareRoPE(shape(16), factor_at_eval=5).eval())
    assert scaled[0] == plain[0]
    assert scaled[-1] == pytest.approx(plain[-1] / 5)


def test_yarn_by_hand():
    """K = 16, 20 tokens: the ramp rises over pairs 0, 1 and 2, and logits gain (0.1 ln 5 + 1)^2."""
    encoding = YaRN(shape(16), factor_at_eval=5).eval()
    plain = frequencies(RoPE(shape(16)))
    shares = [new / old for new, old in zip(frequencies(encoding), plain, strict=True)]
    assert shares == pytest.approx([1, 0.6, *[0.2] * 6])
    q, k = heads(16)
    turned = turn(encoding, q, k)
    gain = (turned[0].norm() / q.norm() * turned[1].norm() / k.norm()).item()
    assert gain == pytest.approx((0.1 * math.log(5) + 1) ** 2)


def test_yarn_interpolates_every_pair_that_does_not_turn_once():
    plain = frequencies(RoPE(shape(16)))
    slowed = frequencies(YaRN(shape(16), factor_at_eval=5, trained_length=1).eval())
    assert slowed[1:] == pytest.approx([each / 5 for each in plain[1:]])
    left = frequencies(YaRN(shape(4), factor_at_eval=5, trained_length=10**6, base=2).eval())
    assert left == frequencies(RoPE(shape(4), base=2))


@pytest.mark.parametrize("cls", SCALED)
def test_the_mode_is_followed_in_one_graph(cls):
    torch._dynamo.reset()
    encoding = cls(shape(8), factor_at_eval=4)
    compiled = torch.compile(turn, fullgraph=True, backend="eager")
    q, k = heads(8)
    for training in (True, False):
        encoding.train(training)
        torch.testing.assert_close(compiled(encoding, q, k), turn(encoding, q, k), atol=0, rtol=0)


@pytest.mark.parametrize("cls", SCALED)
@pytest.mark.parametrize("factor", [0.5, 0, -1, math.nan, math.inf, 10**400, "long", True, [2]])
def test_refuses_a_factor_below_one(cls: type[ScaledRoPE], factor):
    with pytest.raises(ConfigError, match=r"encoding\.factor_at_eval=.*must be"):
        cls(shape(8), factor_at_eval=factor)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"trained_length": 0}, r"encoding\.trained_length=0: "),
        ({"trained_length": "long"}, r"encoding\.trained_length=long: "),
        ({"beta_slow": 32.0}, r"encoding\.beta_slow=32\.0: .*encoding\.beta_fast=32\.0"),
        ({"beta_slow": 0.0}, r"encoding\.beta_slow=0\.0: "),
        ({"beta_fast": math.nan}, r"encoding\.beta_fast=nan"),
        ({"base": 1.0}, r"encoding\.base=1\.0: "),
    ],
)
def test_yarn_refuses_a_ramp_that_cannot_be(settings, named):
    with pytest.raises(ConfigError, match=named):
        YaRN(shape(8), **settings)


def test_ntk_refuses_heads_of_one_pair():
    with pytest.raises(ConfigError, match=r"model\.width=4 with model\.heads=2"):
        NTKAwareRoPE(shape(2))


@pytest.mark.parametrize("cls", SCALED)
def test_refuses_heads_of_odd_width(cls):
    with pytest.raises(ConfigError, match=r"heads of 5 channels"):
        cls(shape(5))
