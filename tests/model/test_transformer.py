"""The network against a slow twin, and what it may and may not know of order."""

import os
import shutil
from dataclasses import replace

import naive
import pytest
import torch
from catalogue import source, stir
from sequences import sequences
from torch.nn.functional import cross_entropy

from posenc.choosing import choices
from posenc.errors import ConfigError
from posenc.positions.several import Several
from posenc.shapes import Shape

B, T, SYMBOLS = 3, 8, 7


@pytest.fixture
def tokens(draw):
    """(B,T), the last two of which ask."""
    tokens = torch.randint(SYMBOLS, (B, T), generator=draw)
    tokens[:, -2:] = SYMBOLS
    return tokens


@pytest.mark.parametrize("layers", [1, 3])
def test_asking_at_answers_alone_gives_the_rows_of_the_full_computation(
    any_encoding, model_name, network, tokens, ids, layers
):
    net = network(any_encoding, model_name, layers)
    full = naive.transformer(net, tokens, ids)
    for answers in (1, 2, T - 1, T):
        given = net(tokens, ids, answers)
        assert given.shape == (B, answers, SYMBOLS)
        torch.testing.assert_close(given, full[:, -answers:], atol=2e-6, rtol=1e-6)
    exact = naive.transformer(net.double(), tokens, ids)
    torch.testing.assert_close(net(tokens, ids, 2), exact[:, -2:], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("answers", [1, 2, T])
def test_what_layers_take_from_the_ids_can_be_made_once(
    any_encoding, model_name, network, tokens, ids, answers
):
    net = network(any_encoding, model_name, 3)
    made = net.contexts(ids, answers)
    assert torch.equal(net(tokens, ids, answers, contexts=made), net(tokens, ids, answers))
    alone = net(tokens[:1], ids[:1], answers)
    once = net(tokens[:1], ids[:1], answers, contexts=net.contexts(ids[:1], answers))
    assert torch.equal(once, alone)


def test_gradients_are_those_of_the_full_computation(any_encoding, model_name, network, tokens):
    net = network(any_encoding, model_name, 3).double()
    ids = torch.arange(T)[None]
    answer = torch.arange(B * 2) % SYMBOLS

    def gradients(logits):
        loss = cross_entropy(logits.flatten(0, 1), answer)
        parameters = list(net.parameters())
        return torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)

    torch.testing.assert_close(
        gradients(net(tokens, ids, 2)),
        gradients(naive.transformer(net, tokens, ids)[:, -2:]),
        atol=1e-12,
        rtol=1e-9,
    )


def test_watching_changes_no_answer(any_encoding, model_name, network, tokens, ids):
    net = network(any_encoding, model_name, 3)
    watch = []
    watched = net(tokens, ids, 2, watch)
    torch.testing.assert_close(watched, net(tokens, ids, 2), atol=2e-6, rtol=1e-6)
    assert [weights.shape[2:] for weights in watch] == [(T, T), (T, T), (2, T)]
    for weights in watch:
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def paired(experiment, positions_name):
    """(network with its encoding half trained, source); None where the program refuses the pair."""
    net = experiment.net
    sources = [source(positions_name)] * len(net.encoding.parts)
    positions = Several(sources) if len(sources) > 1 else sources[0]
    slots = sequences(B, T)
    try:
        replace(experiment, positions=positions).check_room(slots, slots)
    except ConfigError as refusal:
        line = str(refusal)
        assert line.startswith(f"positions={positions_name} and encoding=")
        assert line.endswith(": real numbers choose no row of a table")
        return None
    stir(net.encodings)
    return net, positions


def test_later_tokens_never_change_earlier_logits(encoding_name, positions_name, built, draw):
    """Bit for bit, and under one draw of the ids."""
    settings = ("model=decoder", "task=reverse", f"task.symbols={SYMBOLS}")
    pair = paired(built(f"encoding={encoding_name}", *settings), positions_name)
    if pair is None:
        return
    net, positions = pair
    tokens = torch.randint(SYMBOLS + 1, (B, T), generator=draw)
    for policy in (positions.train, positions.evaluate):
        ids = policy(sequences(B, T), draw)
        before = net(tokens, ids, T)
        assert before.isfinite().all()
        for place in range(T - 1):
            changed = tokens.clone()
            changed[:, place + 1 :] = (tokens[:, place + 1 :] + 1) % (SYMBOLS + 1)
            after = net(changed, ids, T)
            assert torch.equal(after[:, : place + 1], before[:, : place + 1]), place
            assert not torch.equal(after[:, place + 1 :], before[:, place + 1 :])


def test_an_encoder_takes_the_ids_of_every_source_or_refuses_them(encoding_name, built, draw):
    """Repeated, out of order, real and far ones."""
    settings = ("task=reverse", f"task.symbols={SYMBOLS}")
    tokens = torch.randint(SYMBOLS + 1, (B, T), generator=draw)
    for name in choices("positions"):
        pair = paired(built(f"encoding={encoding_name}", *settings), name)
        if pair is not None:
            net, positions = pair
            for policy in (positions.train, positions.evaluate):
                loss = net(tokens, policy(sequences(B, T), draw), 2).square().mean()
                gradients = torch.autograd.grad(
                    loss, list(net.parameters()), allow_unused=True, materialize_grads=True
                )
                assert all(part.isfinite().all() for part in (loss, *gradients)), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the compiler itself calls
@pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "c++")) is None, reason="there is no C++ compiler"
)
def test_compiles_to_one_graph_that_computes_the_same(encoding_name, network, tokens):
    """With the compiler that `torch.compile` takes by default, forward and backward."""
    torch._dynamo.reset()
    net = network(encoding_name, "decoder")
    compiled = torch.compile(net, fullgraph=True)
    ids = torch.arange(T)[None]
    for training in (True, False):
        net.train(training)
        results = []
        for function in (net, compiled):
            net.zero_grad()
            logits = function(tokens, ids, 2)
            logits.square().mean().backward()
            gradients = [p.grad.clone() for p in net.parameters() if p.grad is not None]
            results.append([logits, *gradients])
        torch.testing.assert_close(*results, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("answers", [1, 4])
def test_an_encoder_without_encoding_sees_a_bag(network, draw, answers):
    """Permuting the prompt permutes what is computed for it, and leaves the answers alone."""
    net = network("none", "encoder", 3)
    tokens = torch.randint(SYMBOLS, (B, T), generator=draw)
    tokens[:, -answers:] = SYMBOLS
    ids = torch.arange(T)[None]
    order = torch.cat([torch.randperm(T - answers, generator=draw), torch.arange(T - answers, T)])
    assert not torch.equal(order, torch.arange(T))
    before, after = net(tokens, ids, T), net(tokens[:, order], ids, T)
    torch.testing.assert_close(after, before[:, order], atol=1e-5, rtol=0)


def test_an_encoder_without_encoding_answers_every_slot_alike(network, tokens):
    first, second = network("none", "encoder")(tokens, torch.arange(T)[None], 2).unbind(1)
    torch.testing.assert_close(first, second, atol=1e-5, rtol=0)


def test_a_causal_mask_tells_order_without_any_encoding(network, tokens):
    net = network("none", "decoder", 2)
    ids = torch.arange(T)[None]
    mirrored = torch.cat([tokens[:, :-2].flip(1), tokens[:, -2:]], dim=1)
    assert (net(tokens, ids, 1) - net(mirrored, ids, 1)).abs().max() > 1e-3


def test_the_catalogue_breaks_the_symmetry_that_none_leaves(encoding_name, network, tokens):
    """Exchanging two prompt tokens shows in the answers of an encoder, with any real encoding."""
    if encoding_name == "none":
        pytest.skip("the one that cannot")
    net = network(encoding_name, "encoder", 2).double()
    ids = torch.arange(T)[None]
    tokens[:, 1:3] = torch.tensor([2, 5])
    swapped = tokens.clone()
    swapped[:, 1:3] = torch.tensor([5, 2])
    assert (net(tokens, ids, 1) - net(swapped, ids, 1)).abs().max() > 1e-5


def test_dropout_acts_in_training_alone(built, tokens):
    net = built("model.dropout=0.5", "task=reverse", "task.symbols=7").net
    ids = torch.arange(T)[None]
    assert torch.equal(net.eval()(tokens, ids, 2), net(tokens, ids, 2))
    assert not torch.equal(net.train()(tokens, ids, 2), net(tokens, ids, 2))


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"width": 10, "heads": 3}, "model.width=10"), ({"layers": 0}, "model.layers=0")],
)
def test_impossible_shapes_are_refused(settings, key):
    with pytest.raises(ConfigError, match=key):
        Shape(**{"width": 16, "heads": 2, "layers": 1, "causal": False, **settings})
