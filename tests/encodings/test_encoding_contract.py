"""What every encoding in configs/encoding owes the Transformer, found by listing the folder."""

import copy
import importlib
import inspect
import pickle
from pathlib import Path

import pytest
import torch
import yaml
from catalogue import stir
from hypothesis import given, settings
from hypothesis import strategies as st

from posenc.encodings.base import Encoding
from posenc.errors import ConfigError
from posenc.shapes import Shape

CONFIGS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (Path(__file__).parents[2] / "configs" / "encoding").glob("*.yaml")
}
PLAIN = {name: config for name, config in CONFIGS.items() if "_target_" in config}
ENCODER = Shape(width=32, heads=4, layers=2, causal=False)
DECODER = Shape(width=32, heads=4, layers=2, causal=True)
SHAPES = {"encoder": ENCODER, "decoder": DECODER}
FILLED_IN = {"factor_at_eval": 5.0}
"""What a run puts where a yaml says null, so that every formula acts."""
RELATIVE = {
    "alibi", "alibi_asymmetric", "alibi_learned", "cope", "dape", "deberta", "dynamic_bias", "fire",
    "kerple_log", "kerple_power", "none", "pope", "rope", "rope_linear", "rope_ntk", "rope_partial",
    "sandwich", "shaw", "t5", "transformer_xl", "xpos", "yarn",
}  # fmt: skip
"""Blind to a shift of all ids; fire only while no id exceeds its threshold, 512 here."""
ABSOLUTE = {
    "combined", "fourier", "index", "learned", "scaled_sinusoidal", "sinusoidal", "tupe",
}  # fmt: skip
B, T, Q = 3, 9, 4


def class_of(name: str) -> type[Encoding]:
    module, _, cls = PLAIN[name]["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), cls)


def made(name: str, shape: Shape) -> Encoding:
    """In evaluation mode, in which some scale what they learned."""
    own = {key: PLAIN[name][key] for key in PLAIN[name].keys() - {"name", "_target_"}}
    own |= {key: FILLED_IN.get(key) for key, value in own.items() if value is None}
    if "parts" in own:
        own["parts"] = [made(part, shape) for part in own["parts"]]
    torch.manual_seed(0)
    return class_of(name)(shape, **own).eval()


def build(name: str, shape: Shape) -> Encoding:
    try:
        return made(name, shape)
    except ConfigError as error:
        pytest.skip(f"{name} refuses {shape}: {error}")


@pytest.fixture(params=PLAIN)
def name(request):
    return request.param


@pytest.fixture(params=SHAPES)
def encoding(name, request):
    return build(name, SHAPES[request.param])


def content(shape: Shape, tokens: int = T, dtype=torch.float32):
    """(B,T,D) embeddings, (B,H,T,K) queries and keys."""
    draw = torch.Generator().manual_seed(1)
    heads = (2, B, shape.heads, tokens, shape.head_width)
    x = torch.randn(B, tokens, shape.width, generator=draw, dtype=dtype)
    q, k = torch.randn(heads, generator=draw, dtype=dtype)
    return x, q, k


def logits(encoding, q, k, query_ids, key_ids):
    """(B,H,Q,T): what goes into the softmax, short of the mask."""
    tables = encoding.prepare(query_ids, key_ids)
    scale = encoding.shape.head_width**-0.5
    q, k = encoding.rotate(q, k, tables)
    result = q @ k.transpose(-1, -2) * scale
    bias = encoding.bias(tables)
    if bias is not None:
        result = result + bias
    if encoding.score is not None:
        visible = None
        if encoding.shape.causal:
            queries, keys = result.shape[-2:]
            visible = torch.ones(1, 1, queries, keys).bool().tril(keys - queries)
        result = encoding.score(result, q, k, tables, visible)
    return result


def outputs(encoding, ids, x, q, k):
    return encoding.embed(x, ids), logits(encoding, q, k, ids, ids)


def rows_of_ids() -> torch.Tensor:
    """(B,T) sorted ids with gaps, another set in every row."""
    draw = torch.Generator().manual_seed(2)
    return torch.rand(B, 200, generator=draw).argsort(-1)[:, :T].sort(-1).values


def test_yaml_states_every_setting_with_its_default(name):
    if "parts" in PLAIN[name]:
        pytest.skip("parts are made of other files")
    signature = inspect.signature(class_of(name))
    shape, *settings = signature.parameters.values()
    assert shape.name == "shape"
    assert all(setting.kind is setting.KEYWORD_ONLY for setting in settings)
    defaults = {setting.name: setting.default for setting in settings}
    assert PLAIN[name] == {
        "name": name,
        "_target_": f"posenc.encodings.{name}.{class_of(name).__name__}",
        **defaults,
    }


def test_one_idea_one_file_one_class(name):
    module = inspect.getmodule(class_of(name))
    source = inspect.getsource(module)
    classes = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Encoding) and cls.__module__ == module.__name__
    ]
    assert classes == [class_of(name)]
    assert len(source.splitlines()) <= 80
    assert module.__doc__


def test_shapes_and_dtypes(encoding):
    shape = encoding.shape
    x, q, k = content(shape)
    for ids in (torch.arange(T)[None], rows_of_ids()):
        embedded = encoding.embed(x, ids)
        assert (embedded.shape, embedded.dtype) == (x.shape, x.dtype)
        tables = encoding.prepare(ids[:, -Q:], ids)
        turned_q, turned_k = encoding.rotate(q[:, :, -Q:], k, tables)
        assert turned_q.shape[:-1] == (B, shape.heads, Q)
        assert turned_k.shape[:-1] == (B, shape.heads, T)
        assert turned_q.shape[-1] == turned_k.shape[-1] >= shape.head_width
        assert turned_q.dtype == turned_k.dtype == q.dtype
        bias = encoding.bias(tables)
        if bias is not None:
            assert bias.shape in [(rows, shape.heads, Q, T) for rows in {1, len(ids)}]
            assert bias.dtype == q.dtype


def test_shared_ids_and_ids_of_every_row_agree(encoding):
    x, q, k = content(encoding.shape)
    ids = torch.arange(T)[None]
    shared = outputs(encoding, ids, x, q, k)
    torch.testing.assert_close(outputs(encoding, ids.expand(B, T), x, q, k), shared)


def test_every_row_follows_its_own_ids(encoding):
    x, q, k = content(encoding.shape)
    ids = rows_of_ids()
    together = outputs(encoding, ids, x, q, k)
    for row in range(B):
        one = slice(row, row + 1)
        alone = outputs(encoding, ids[one], x[one], q[one], k[one])
        torch.testing.assert_close(tuple(part[one] for part in together), alone)


def test_the_last_queries_alone_give_the_last_rows(encoding):
    _, q, k = content(encoding.shape)
    for ids in (torch.arange(T)[None], rows_of_ids()):
        full = logits(encoding, q, k, ids, ids)
        for queries in (1, Q):
            last = logits(encoding, q[:, :, -queries:], k, ids[:, -queries:], ids)
            torch.testing.assert_close(last, full[:, :, -queries:], atol=1e-5, rtol=1e-5)


def test_only_the_ids_concerned_matter(encoding):
    x, q, k = content(encoding.shape)
    ids = rows_of_ids()
    kept = [2, 5]
    others = ids.roll(1, 0) + 7
    others[:, kept] = ids[:, kept]
    assert (others != ids).any(0).sum() == T - len(kept)
    before, after = outputs(encoding, ids, x, q, k), outputs(encoding, others, x, q, k)
    torch.testing.assert_close(after[0][:, kept], before[0][:, kept], atol=0, rtol=0)
    pairs = (..., torch.tensor(kept)[:, None], torch.tensor(kept))
    torch.testing.assert_close(after[1][pairs], before[1][pairs], atol=0, rtol=0)


def drift(encoding: Encoding) -> float:
    """The largest change of a logit of embedded tokens when every id moves by 137."""
    x, _, _ = content(encoding.shape, dtype=torch.float64)
    ids = torch.arange(T)[None]

    def seen(ids):
        embedded = encoding.embed(x, ids)
        heads = embedded.unflatten(-1, (encoding.shape.heads, -1)).transpose(1, 2)
        return logits(encoding, heads, heads, ids, ids)

    return (seen(ids + 137) - seen(ids)).abs().max().item()


def test_a_shift_of_all_ids_is_not_seen_or_plainly_seen(name, encoding):
    change = drift(stir(encoding).double())
    assert change < 1e-10 or change > 0.01
    if name in RELATIVE | ABSOLUTE:
        assert (change > 0.01) == (name in ABSOLUTE)


@st.composite
def uses(draw):
    """(Shape, B rows of T ids, Q): any numbers of heads, tokens and queries; ids as numbers that
    restart may give them, repeated and in any order."""
    heads, head_width = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    shape = Shape(width=heads * head_width, heads=heads, layers=1, causal=draw(st.booleans()))
    tokens, rows = draw(st.integers(1, T)), draw(st.sampled_from([1, B]))
    row = st.lists(st.integers(0, 3) | st.integers(0, 500), min_size=tokens, max_size=tokens)
    ids = torch.tensor(draw(st.lists(row, min_size=rows, max_size=rows)))
    return shape, ids, draw(st.integers(1, tokens))


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(use=uses())
def test_any_shape_and_any_ids_are_finite_or_refused_in_one_line(name, use):
    shape, ids, queries = use
    try:
        encoding = stir(made(name, shape))
    except ConfigError as refusal:
        line = str(refusal)
        assert line.startswith(("model.", "encoding"))
        assert "\n" not in line
        return
    tokens = ids.shape[1]
    x, q, k = content(shape, tokens)
    for each in (ids, ids + 0.5) if encoding.real_ids else (ids,):
        embedded, full = outputs(encoding, each, x, q, k)
        assert (embedded.shape, full.shape) == (x.shape, (B, shape.heads, tokens, tokens))
        assert embedded.isfinite().all()
        assert full.isfinite().all()
        last = logits(encoding, q[:, :, -queries:], k, each[:, -queries:], each)
        torch.testing.assert_close(last, full[:, :, -queries:], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("tokens", [1, 2])
def test_the_shortest_sequences_are_finite(encoding, tokens):
    ids = torch.arange(tokens)[None]
    for part in outputs(encoding, ids, *content(encoding.shape, tokens)):
        assert part.isfinite().all()


def test_huge_ids_are_finite(encoding):
    if encoding.max_length is not None:
        pytest.skip(f"a table of {encoding.max_length} rows")
    ids = torch.tensor([[0, 1, 127, 128, 4095, 10**5, 10**6 - 1, 10**6, 3]])
    for part in outputs(encoding, ids, *content(encoding.shape)):
        assert part.isfinite().all()


def test_gradient_reaches_every_parameter(encoding):
    if not list(encoding.parameters()):
        pytest.skip("no parameters")
    embedded, seen = outputs(encoding, rows_of_ids(), *content(encoding.shape))
    (embedded.square().sum() + (seen.softmax(-1) ** 2).sum()).backward()
    for key, parameter in encoding.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.abs().max() > 1e-6, key


def test_use_leaves_no_trace(encoding):
    def state():
        everything = [*encoding.named_parameters(), *encoding.named_buffers()]
        return {key: value.detach().clone() for key, value in everything}

    before, keys, attributes = state(), list(encoding.state_dict()), set(vars(encoding))
    for tokens in (T, 2 * T):
        outputs(encoding, torch.arange(tokens)[None], *content(encoding.shape, tokens))
    assert list(encoding.state_dict()) == keys
    assert set(vars(encoding)) == attributes
    torch.testing.assert_close(state(), before, atol=0, rtol=0)


def test_copies_and_pickles_compute_the_same(encoding):
    arguments = (rows_of_ids(), *content(encoding.shape))
    expected = outputs(encoding, *arguments)
    for twin in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        torch.testing.assert_close(outputs(twin, *arguments), expected, atol=0, rtol=0)


def test_a_checkpoint_restores_it(name):
    encoding, other = build(name, ENCODER), build(name, ENCODER)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
    other.load_state_dict(encoding.state_dict())
    arguments = (rows_of_ids(), *content(ENCODER))
    torch.testing.assert_close(outputs(other, *arguments), outputs(encoding, *arguments))


def test_nothing_is_drawn_at_random(encoding):
    arguments = (rows_of_ids(), *content(encoding.shape))
    before = torch.get_rng_state()
    for training in (True, False):
        encoding.train(training)
        first, second = outputs(encoding, *arguments), outputs(encoding, *arguments)
        torch.testing.assert_close(first, second, atol=0, rtol=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_trains_after_use_under_inference_mode(encoding):
    x, q, k = content(encoding.shape)
    ids = torch.arange(T)[None]
    with torch.inference_mode():
        outputs(encoding, ids, x, q, k)
    parts = outputs(encoding, ids, *(part.requires_grad_() for part in (x, q, k)))
    sum(part.square().sum() for part in parts).backward()
    assert all(part.grad.isfinite().all() for part in (x, q, k))


def test_buffers_made_under_inference_mode_do_not_stop_training(encoding):
    if list(encoding.parameters()):
        pytest.skip("torch itself refuses to train parameters made under inference mode")
    with torch.inference_mode():
        made = type(encoding)(encoding.shape)
    x, q, k = (part.requires_grad_() for part in content(encoding.shape))
    sum(part.square().sum() for part in outputs(made, torch.arange(T)[None], x, q, k)).backward()
    assert q.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_follows_the_dtype_of_the_network(encoding, dtype):
    reference = copy.deepcopy(encoding)
    x, q, k = content(encoding.shape)
    ids = torch.arange(T)[None]
    cast = outputs(encoding.to(dtype), ids, *(part.to(dtype) for part in (x, q, k)))
    assert {part.dtype for part in cast} == {dtype}
    tolerance = 0.1 if dtype == torch.bfloat16 else 1e-5
    for part, expected in zip(cast, outputs(reference, ids, x, q, k), strict=True):
        torch.testing.assert_close(part.float(), expected, atol=tolerance, rtol=tolerance)


FAR = [[0, 1, 2, 255, 257, 1000, 2049, 4093, 4095]]


def far_ids(encoding: Encoding) -> torch.Tensor:
    """(1,T), as far as a table goes."""
    return torch.tensor(FAR).clamp(max=(encoding.max_length or 4096) - 1)


def test_bfloat16_rounds_what_comes_out_and_no_position(encoding):
    """Two roundings of numbers near one; a phase that was rounded would be off by a turn."""
    low = encoding.bfloat16()
    exact = copy.deepcopy(low).double()
    ids, heads = far_ids(encoding), (1, encoding.shape.heads, T, encoding.shape.head_width)

    def parts(encoding, dtype):
        half = torch.ones(heads, dtype=dtype)
        half[..., heads[-1] // 2 :] = 0  # turned, it shows the tables themselves
        tables = encoding.prepare(ids, ids)
        yield encoding.embed(torch.zeros(1, T, encoding.shape.width, dtype=dtype), ids)
        yield from encoding.rotate(half, half, tables)
        if (bias := encoding.bias(tables)) is not None:
            yield bias

    for low_part, expected in zip(parts(low, torch.bfloat16), parts(exact, torch.float64),
                                    strict=True):  # fmt: skip
        torch.testing.assert_close(low_part.double(), expected, atol=2**-7, rtol=2**-7)


def test_autocast_rounds_products_and_no_position(encoding):
    x, q, k = content(encoding.shape)
    arguments = (far_ids(encoding), x, q.bfloat16(), k.bfloat16())
    expected = outputs(encoding, arguments[0], x, q, k)
    with torch.autocast("cpu", torch.bfloat16):
        given_parts = outputs(encoding, *arguments)
    if encoding.shape.causal:  # what nobody sees may be large
        expected, given_parts = (
            (embedded, seen.tril()) for embedded, seen in (expected, given_parts)
        )
    for part, exact in zip(given_parts, expected, strict=True):
        torch.testing.assert_close(part.float(), exact, atol=0.05, rtol=2**-5)


def test_traces_to_one_graph(name):
    torch._dynamo.reset()
    for shape in (ENCODER, DECODER):
        encoding = build(name, shape)
        arguments = (rows_of_ids(), *content(shape))
        compiled = torch.compile(outputs, fullgraph=True, backend="eager")
        torch.testing.assert_close(
            compiled(encoding, *arguments), outputs(encoding, *arguments), atol=0, rtol=0
        )
