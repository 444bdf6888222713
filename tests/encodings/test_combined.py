"""Encodings of several parts: the sum of what each does, on ids of its own where it names some."""

import copy
from dataclasses import asdict

import pytest
import torch
from catalogue import source, stir
from sequences import sequences

from posenc.building import build
from posenc.encodings.alibi import ALiBi
from posenc.encodings.combined import Combined
from posenc.encodings.cope import CoPE
from posenc.encodings.deberta import DeBERTa
from posenc.encodings.fire import FIRE
from posenc.encodings.learned import Learned
from posenc.encodings.none import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.t5 import T5
from posenc.encodings.transformer_xl import TransformerXL
from posenc.errors import ConfigError
from posenc.model.attention import context
from posenc.positions.several import Several
from posenc.results.identity import identity
from posenc.results.records import RunFolder
from posenc.scoring import _at_eval
from posenc.shapes import Shape

B, T = 3, 7
SHAPE = Shape(width=16, heads=2, layers=2, causal=True)


def content():
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(B, T, SHAPE.width, generator=draw, dtype=torch.float64)
    q, k = torch.randn(2, B, SHAPE.heads, T, SHAPE.head_width, generator=draw, dtype=torch.float64)
    return x, q, k


def combined(*parts):
    return stir(Combined(SHAPE, parts=parts)).double()


def test_does_what_its_parts_do():
    """Embeddings and biases add up; rotation and score are those of the one that has them."""
    learned, sinusoidal, shaw = Learned(SHAPE), Sinusoidal(SHAPE), Shaw(SHAPE)
    alibi, t5 = ALiBi(SHAPE), T5(SHAPE)
    encoding = combined(learned, alibi, sinusoidal, shaw, t5)
    x, q, k = content()
    ids = torch.arange(T)[None]
    tables = encoding.prepare(ids, ids)
    nothing = torch.zeros_like(x)
    added = learned.embed(nothing, ids) + sinusoidal.embed(nothing, ids)
    torch.testing.assert_close(encoding.embed(x, ids), x + added)
    biases = (part.bias(part.prepare(ids, ids)) for part in (alibi, t5))
    torch.testing.assert_close(encoding.bias(tables), sum(biases))
    assert encoding.rotate(q, k, tables)[0] is q
    logits = q @ k.mT
    torch.testing.assert_close(
        encoding.score(logits, q, k, tables, None),
        shaw.score(logits, q, k, shaw.prepare(ids, ids), None),
    )


def test_rotates_once_and_leaves_the_fused_kernel_where_no_part_scores():
    rope = RoPE(SHAPE)
    encoding = combined(Learned(SHAPE), rope)
    _, q, k = content()
    ids = torch.arange(T)[None]
    given = encoding.rotate(q, k, encoding.prepare(ids, ids))
    torch.testing.assert_close(given, rope.rotate(q, k, rope.prepare(ids, ids)))
    assert encoding.score is None
    assert encoding.bias(encoding.prepare(ids, ids)) is None


def test_one_part_is_that_part():
    rope = RoPE(SHAPE)
    _, q, k = content()
    ids = torch.arange(T)[None]
    alone = Combined(SHAPE, parts=[rope])
    given = alone.rotate(q, k, alone.prepare(ids, ids))
    torch.testing.assert_close(given, rope.rotate(q, k, rope.prepare(ids, ids)))


def test_every_part_sees_its_own_ids():
    learned, fire = Learned(SHAPE), FIRE(SHAPE)
    encoding = combined(learned, fire)
    x, _, _ = content()
    own = torch.tensor([[0, 1, 2, 0, 3, 4, 1]]), torch.arange(T)[None]
    ids = torch.stack(own, dim=-1)
    torch.testing.assert_close(encoding.embed(x, ids), learned.embed(x, own[0]))
    for asking in (1, T):
        given = context(encoding, ids, asking).bias
        torch.testing.assert_close(given, context(fire, own[1], asking).bias)


def test_rows_of_a_table_stay_whole_beside_real_ids():
    """Several sources in one tensor make all of them real."""
    learned, rope = Learned(SHAPE), RoPE(SHAPE)
    encoding = combined(learned, rope)
    x, q, k = content()
    whole, real = torch.arange(T)[None], torch.arange(T)[None] / 3
    ids = torch.stack([whole.double(), real], dim=-1)
    torch.testing.assert_close(encoding.embed(x, ids), learned.embed(x, whole))
    turned = encoding.rotate(q, k, encoding.prepare(ids, ids))
    torch.testing.assert_close(turned, rope.rotate(q, k, rope.prepare(real, real)))


def test_only_the_table_of_learned_and_fire_sees_places(built):
    """Places moved to other tokens change the embedding, and no logit that FIRE biases."""
    net = built("encoding=combined", "encoding.parts=[learned,fire]").net
    draw = torch.Generator().manual_seed(0)
    slots = sequences(B, T)
    ids = Several([source("abacus"), source("index")]).train(slots, draw)
    assert ids.shape == (B, T, 2)
    assert (ids[..., 0] == 0).equal(slots.places == 0)
    assert (ids[..., 1] == torch.arange(T)).all()
    moved = torch.stack([ids[..., 0].roll(1, dims=1), ids[..., 1]], dim=-1)
    x = torch.zeros(B, T, net.shape.width)
    assert not torch.equal(net.encoding.embed(x, moved), net.encoding.embed(x, ids))
    biases = [context(net.encoding, each, T).bias for each in (ids, moved)]
    torch.testing.assert_close(*biases, atol=0, rtol=0)


def test_parts_of_every_layer_and_shared_ones_side_by_side():
    """T5 is one for all layers; FIRE has an f in each; DeBERTa has both within itself."""
    first, later = (Combined(SHAPE, parts=[T5(SHAPE), FIRE(SHAPE), DeBERTa(SHAPE)]) for _ in "12")
    assert first.per_layer
    later.share(first)
    assert later.parts[0] is first.parts[0]
    assert later.parts[1] is not first.parts[1]
    assert later.parts[2].table is first.parts[2].table
    assert later.parts[2].to_keys is not first.parts[2].to_keys
    assert not Combined(SHAPE, parts=[Learned(SHAPE), RoPE(SHAPE)]).per_layer


def test_layers_of_a_network_share_what_their_parts_share(built):
    encodings = built(
        "encoding=combined", "encoding.parts=[t5,fire]", "model.layers=3"
    ).net.encodings
    assert len(encodings) == 3
    assert len({id(encoding.parts[0].table.weight) for encoding in encodings}) == 1
    assert len({id(encoding.parts[1].c) for encoding in encodings}) == 3


def test_knows_what_its_parts_know():
    short, long = Learned(SHAPE, max_length=9), Learned(SHAPE, max_length=30)
    assert Combined(SHAPE, parts=[long, short]).max_length == 9
    assert Combined(SHAPE, parts=[RoPE(SHAPE)]).max_length is None
    assert Combined(SHAPE, parts=[RoPE(SHAPE), FIRE(SHAPE)]).real_ids
    assert not Combined(SHAPE, parts=[RoPE(SHAPE), short]).real_ids


def test_acts_through_the_hooks_of_its_parts():
    alone = [Combined(SHAPE, parts=[part(SHAPE)]).hooks() for part in (NoPE, Learned, RoPE, CoPE)]
    assert alone == [(), ("embed",), ("rotate",), ("score",)]
    assert Combined(SHAPE, parts=[NoPE(SHAPE), NoPE(SHAPE)]).hooks() == ()
    both = Combined(SHAPE, parts=[RoPE(SHAPE), ALiBi(SHAPE), Learned(SHAPE)])
    assert both.hooks() == ("embed", "rotate", "bias")


def test_copies_share_nothing_with_the_original():
    encoding = combined(Learned(SHAPE), CoPE(SHAPE))
    twin = copy.deepcopy(encoding)
    _, q, k = content()
    ids = torch.arange(T)[None]
    before = encoding.score(q @ k.mT, q, k, encoding.prepare(ids, ids), None)
    stir(twin)
    torch.testing.assert_close(
        encoding.score(q @ k.mT, q, k, encoding.prepare(ids, ids), None), before, atol=0, rtol=0
    )
    after = twin.score(q @ k.mT, q, k, twin.prepare(ids, ids), None)
    assert not torch.equal(after, before)


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ([RoPE, Shaw], "RoPE, Shaw"),
        ([RoPE, Learned, TransformerXL], "RoPE, TransformerXL"),
        ([CoPE, Shaw], "CoPE, Shaw"),
    ],
)
def test_two_that_act_on_queries_and_keys_are_refused(parts, named):
    with pytest.raises(ConfigError, match=rf"encoding\.parts: {named} act on queries and keys"):
        Combined(SHAPE, parts=[part(SHAPE) for part in parts])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["encoding.parts=[rope,rope]"], r"encoding\.parts: RoPE, RoPE act on"),
        (["encoding.parts=[learned,cope]"], r"encoding=cope is defined for causal models alone"),
        (
            ["encoding.parts=[{name:learned,max_length:50},rope]"],
            r"encoding\.parts\.0\.max_length=50: positions=index and encoding=learned need 101 rows"
            r" .* give this part max_length=101, or",
        ),
        (
            ["encoding.parts=[{name:learned,positions:random_float},rope]"],
            r"positions=random_float and encoding=learned: real numbers",
        ),
        (
            ["encoding.parts=[{name:learned,positions:abacus},rope]"],
            r"positions=abacus: the task has no numbers",
        ),
    ],
)
def test_parts_that_do_not_go_together_are_refused(settings, message, configured):
    with pytest.raises(ConfigError, match=message) as refused:
        build(configured("encoding=combined", *settings))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("[]", r"encoding\.parts=\[\]: name encodings"),
        ("[3]", r"encoding\.parts: 3 is no encoding"),
        ("[learnd]", r"learnd: .*learned"),
        ("[{name:learned,max_lenght:9}]", r"max_lenght: no such key; did you mean 'max_length'"),
        ("[{name:learned,max_length:long}]", r"max_length=long: must be of type int"),
        ("[{name:learned,positions:abacsu}]", r"positions=abacsu: .*abacus"),
        ("[{name:learned,positions:{name:random,spam:9}}]", r"positions\.spam: no such key"),
        ("[{max_length:9}]", r"encoding\.parts: .* is no encoding"),
        ("[combined]", r"encoding\.parts: combined has parts itself"),
        ("[abacus]", r"abacus: stands for other settings"),
        ("learned", r"encoding\.parts=learned: must be of type list"),
    ],
)
def test_misspelt_parts_are_refused(parts, message, configured):
    with pytest.raises(ConfigError, match=message) as refused:
        configured("encoding=combined", f"encoding.parts={parts}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("alias", "spelling"),
    [
        ("randomized_rope", ["encoding=rope", "positions=random"]),
        ("randomized_t5", ["encoding=t5", "positions=random"]),
        ("abacus", ["encoding=learned", "positions=abacus"]),
        ("coupled", ["encoding=learned", "positions=task"]),
        *(
            ("abacus_fire", ["encoding=combined", f"encoding.parts={parts}"])
            for parts in (
                "[{name:learned,positions:abacus},fire]",
                "[{positions:abacus,name:learned},{name:fire}]",
                "[{name:learned,positions:{name:abacus}},{name:fire,threshold:null}]",
                "[{name:learned,max_length:512,past_end:error,"
                "positions:{max_offset:99,name:abacus}},{name:fire,positions:null}]",
            )
        ),
        ("abacus_rope", ["encoding=combined",
                         "encoding.parts=[{name:learned,positions:abacus},{name:rope,base:10000}]"]),
    ],
)  # fmt: skip
def test_every_spelling_of_a_combination_is_one_run(alias, spelling, configured):
    short, spelt_out = configured(f"encoding={alias}"), configured(*spelling)
    assert RunFolder.of(asdict(short)).path == RunFolder.of(asdict(spelt_out)).path
    assert short == spelt_out


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ("combined", "learned+rope"), ("tupe_relative", "tupe+t5"),
        ("abacus_rope", "learned@abacus+rope"), ("rope", "rope"),
    ],
)  # fmt: skip
def test_results_call_a_combination_by_its_parts(chosen, name, configured):
    settings = asdict(configured(f"encoding={chosen}"))
    assert identity(settings)["encoding"] == name
    assert RunFolder.of(settings).path.parent.name == f"encoder-{name}-index"


def test_the_order_of_parts_and_their_settings_tell_runs_apart(configured):
    spellings = (
        "[learned,fire]", "[fire,learned]", "[learned,rope]", "[{name:learned,max_length:99},fire]",
        "[{name:learned,positions:random},fire]", "[learned,{name:fire,positions:random}]",
    )  # fmt: skip
    folders = {
        RunFolder.of(asdict(configured("encoding=combined", f"encoding.parts={parts}"))).path
        for parts in spellings
    }
    assert len(folders) == len(spellings)


@pytest.mark.parametrize("order", [1, -1])
def test_positions_of_the_command_line_win_over_those_of_an_alias(order, configured):
    given = ["encoding=randomized_rope", "positions=shifted"][::order]
    assert configured(*given) == configured("encoding=rope", "positions=shifted")
    changed = configured("encoding=randomized_rope", "positions.span=99")
    assert changed == configured("encoding=rope", "positions=random", "positions.span=99")


RANDOM = "{name:random,at_eval:even}"


def test_rows_say_how_every_part_got_its_ids(configured):
    parts = f"encoding.parts=[{{name:learned,max_length:2048,positions:{RANDOM}}},rope]"
    assert _at_eval(configured("encoding=combined", parts)) == "even+index"
    assert _at_eval(configured("encoding=combined", "positions=random")) == "resample"


def test_a_source_that_no_part_uses_is_refused(configured):
    parts = "encoding.parts=[{name:learned,positions:shuffled},{name:rope,positions:random}]"
    with pytest.raises(ConfigError, match=r"^positions=index: no part of the encoding uses it"):
        build(configured("encoding=combined", parts))


def test_naming_the_source_of_the_run_is_naming_none(configured):
    named = configured("encoding=combined", "encoding.parts=[{name:rope,positions:index}]")
    assert named == configured("encoding=combined", "encoding.parts=[rope]")


def test_whole_numbers_where_null_stands_are_one_setting_in_both_spellings(configured):
    fire = [configured("encoding=fire", f"encoding.threshold={value}") for value in ("21", "21.0")]
    assert str(fire[0]) == str(fire[1])
