"""Attention against a slow twin, whatever a positional encoding brings to it."""

import naive
import pytest
import torch
from torch import nn

from posenc.encodings.base import Encoding
from posenc.encodings.none import NoPE
from posenc.model.attention import Attention, attention_weights, context, visibility
from posenc.shapes import Shape

B, T, D, H = 3, 8, 16, 2
SHAPES = {
    "encoder": Shape(width=D, heads=H, layers=2, causal=False),
    "decoder": Shape(width=D, heads=H, layers=2, causal=True),
}


class Constant(Encoding):
    """A bias that no gradient reaches."""

    def prepare(self, query_ids, key_ids):
        return -(query_ids[:, :, None] - key_ids[:, None]).abs()[:, None].expand(-1, H, -1, -1) / 3

    def bias(self, tables):
        return tables


class Learned(Constant):
    """A bias that a gradient passes."""

    def __init__(self, shape):
        super().__init__(shape)
        self.slope = nn.Parameter(torch.tensor(0.7))

    def bias(self, tables):
        return self.slope * tables


@pytest.fixture(params=SHAPES)
def shape(request):
    return SHAPES[request.param]


@pytest.fixture
def x(draw):
    return torch.randn(B, T, D, generator=draw, dtype=torch.float64)


def test_every_path_agrees_with_the_slow_twin(any_encoding, model_name, network, x, ids):
    """Outputs and gradients, whoever asks."""
    net = network(any_encoding, model_name).double()
    module, encoding = net.blocks[0].attention, net.encoding
    inputs = [x.requires_grad_(), *module.parameters(), *encoding.parameters()]
    target = torch.randn(B, T, D, generator=torch.Generator().manual_seed(5)).double()

    def with_gradients(output):
        loss = (output * target[:, -output.shape[1] :]).sum()
        return output, torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)

    for asking in (1, 3, T):
        expected = with_gradients(naive.attention(module, x, ids, encoding)[:, -asking:])
        watch: list[torch.Tensor] = []
        for watched in (None, watch):
            given = module(x, asking, encoding, context(encoding, ids, asking), watched)
            torch.testing.assert_close(with_gradients(given), expected, atol=1e-10, rtol=1e-9)
        (weights,) = watch
        assert weights.shape == (B, H, asking, T)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("bias", [Constant, Learned])
@pytest.mark.parametrize("asking", [1, 3, T])
def test_a_bias_masks_alike_in_training_and_evaluation(shape, bias, asking, x, ids):
    module, encoding = Attention(shape), bias(shape)
    x = x.float()
    prepared = context(encoding, ids, asking)
    trained = module.train()(x, asking, encoding, prepared)
    with torch.inference_mode():
        evaluated = module.eval()(x, asking, encoding, context(encoding, ids, asking))
    torch.testing.assert_close(evaluated, trained.detach(), atol=1e-6, rtol=1e-6)
    dense = naive.attention(module, x, ids, encoding)[:, -asking:]
    torch.testing.assert_close(trained, dense, atol=1e-5, rtol=1e-5)


def test_training_and_evaluation_equal_a_dense_reference(any_encoding, model_name, network, x, ids):
    net, x = network(any_encoding, model_name), x.float()
    module, encoding = net.blocks[0].attention, net.encoding
    for training in (True, False):
        net.train(training)
        dense = naive.attention(module, x, ids, encoding)
        for asking in (1, 3, T):
            with torch.inference_mode(not training):
                given = module(x, asking, encoding, context(encoding, ids, asking))
            torch.testing.assert_close(given, dense[:, -asking:], atol=1e-5, rtol=1e-5)


def test_every_query_sees_itself_so_that_no_row_is_empty(any_encoding, network, ids):
    """The fused kernel would make numbers of nothing: visibility and biases never let it come."""
    encoding = network(any_encoding, "decoder").encoding
    for asking in (2, T):
        mask = context(encoding, ids, asking).mask
        own = mask.diagonal(T - asking, dim1=-2, dim2=-1)
        assert own.all() if mask.dtype == torch.bool else own.isfinite().all()


def test_the_fused_kernel_always_gets_four_axes(any_encoding, model_name, network, ids):
    encoding = network(any_encoding, model_name).encoding
    for asking in (1, 3, T):
        prepared = context(encoding, ids, asking)
        for part in (prepared.bias, prepared.visible, prepared.mask):
            assert part is None or part.shape[2:] == (asking, T)
            assert part is None or part.dim() == 4
        assert (prepared.mask is None) == (prepared.bias is None and prepared.visible is None)


def test_no_gradient_keeps_a_constant_bias_from_the_fused_kernel(shape):
    assert not context(Constant(shape), torch.arange(T)[None], T).mask.requires_grad


def test_scale_is_that_of_the_head_before_rotation(x, network):
    """Widened copies of the channels add to the logits; the scale stays 1/sqrt(K)."""

    class Doubled(Encoding):
        def rotate(self, q, k, tables):
            return torch.cat([q, q], -1), torch.cat([k, k], -1)

    shape = SHAPES["encoder"]
    module = Attention(shape).double()
    watch = []
    doubled = Doubled(shape)
    module(x, T, doubled, context(doubled, torch.arange(T)[None], T), watch)
    q = module.to_queries(x)[..., : D // H]
    k = module.to_keys_values(x)[..., : D // H]
    by_hand = (2 * q @ k.mT / (D / H) ** 0.5).softmax(-1)
    torch.testing.assert_close(watch[0][:, 0], by_hand)


@pytest.mark.parametrize("keys", [1, 2, 5])
def test_visibility_is_by_token_order(keys):
    for queries in range(1, keys + 1):
        visible = visibility(queries, keys, torch.device("cpu"))
        first = keys - queries
        expected = [[key <= first + query for key in range(keys)] for query in range(queries)]
        if visible is None:
            assert all(map(all, expected))
        else:
            assert visible.tolist() == [[expected]]


def test_a_row_that_sees_nothing_keeps_loss_and_gradient_finite(draw):
    q, k = torch.randn(2, 1, 1, 3, 4, generator=draw).requires_grad_()
    q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
    visible = torch.ones(1, 1, 3, 3, dtype=torch.bool)
    visible[:, :, 1] = False
    bias = torch.zeros(1, 1, 3, 3, requires_grad=True)
    weights = attention_weights(q, k, scale=0.5, bias=bias, visible=visible)
    weights.square().sum().backward()
    assert weights.isfinite().all()
    assert all(part.grad.isfinite().all() for part in (q, k, bias))
    assert bias.grad[:, :, 1].eq(0).all()


def test_masked_weights_are_exactly_zero(draw):
    q, k = torch.randn(2, 1, 1, T, 4, generator=draw)
    visible = visibility(T, T, q.device)
    weights = attention_weights(q * 100, k, scale=1.0, visible=visible)
    assert (weights[~visible.expand_as(weights)] == 0).all()


def test_without_an_encoding_weights_follow_content_alone(shape, x):
    if shape.causal:
        pytest.skip("a causal mask tells order")
    module, encoding = Attention(shape).double(), NoPE(shape)
    order = torch.randperm(T, generator=torch.Generator().manual_seed(1))
    prepared = context(encoding, torch.arange(T)[None], T)
    torch.testing.assert_close(
        module(x[:, order], T, encoding, prepared), module(x, T, encoding, prepared)[:, order]
    )
