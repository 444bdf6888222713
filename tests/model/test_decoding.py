"""Free decoding, and what makes teacher-forced exact match honest."""

import torch

from posenc.model.decoding import decode
from posenc.model.layout import arrange
from posenc.positions.base import Slots
from posenc.seeding import generator
from posenc.tasks.base import Sample

N = 256


def one_token_at_a_time(net, prompt, ids, answers):
    """(n,A) greedy tokens: every pass sees what has been said so far, and no place beyond."""
    tokens = torch.cat([prompt, torch.full((len(prompt), 1), net.ask)], dim=1)
    said = []
    for _ in range(answers):
        said.append(net(tokens, ids[:, : tokens.shape[1]], 1)[:, 0].argmax(-1))
        tokens = torch.cat([tokens, said[-1][:, None]], dim=1)
    return torch.stack(said, dim=1)


def test_teacher_forced_exact_match_is_that_of_free_decoding(encoding_name, built, learned):
    """Example by example, for a decoder that gets some answers right and others wrong."""
    experiment = built(
        f"encoding={encoding_name}", "model=decoder", "task=reverse", "task.symbols=3",
        "length.min=2", "length.train=4",
    )  # fmt: skip
    net = learned(experiment, 30).eval()
    length = 3
    sample = experiment.task.sample(N, length, generator(0, "held out"))
    ids = experiment.positions.evaluate(Slots(N, 2 * length), generator(0, "ids"))
    with torch.inference_mode():
        shown = arrange(sample, ask=net.ask, causal=True)
        forced = net(shown, ids, length).argmax(-1)
        free = one_token_at_a_time(net, sample.prompt, ids, length)
    forced_right = (forced == sample.answer).all(1)
    assert 0 < forced_right.sum() < N
    assert torch.equal((free == sample.answer).all(1), forced_right)
    assert torch.equal(decode(net, sample, ids).argmax(-1), free)


def test_an_encoder_answers_in_one_pass(built):
    net = built("encoding=sinusoidal", "task=reverse").net.eval()
    prompt = torch.tensor([[0, 1, 1], [1, 0, 0]])
    ids = torch.arange(6)[None]
    asked = Sample(prompt, torch.zeros_like(prompt))
    slots = arrange(asked, ask=net.ask, causal=False)
    with torch.inference_mode():
        assert torch.equal(decode(net, asked, ids), net(slots, ids, 3))


def test_watching_shows_the_last_pass_alone(built):
    net = built("encoding=rope", "model=decoder", "task=reverse").net.eval()
    watch = []
    prompt = torch.tensor([[0, 1, 1]])
    decode(net, Sample(prompt, prompt), torch.arange(6)[None], watch)
    assert [weights.shape[2:] for weights in watch] == [(6, 6), (3, 6)]


def test_answers_in_place_take_one_pass(built):
    """Every answer is read where it is asked for, and none is fed back."""
    net = built("encoding=rope", "model=decoder", "task=reverse").net.eval()
    prompt, ids = torch.tensor([[0, 1, 1]]), torch.arange(3)[None]
    asked = Sample(prompt, prompt, in_place=True)
    with torch.inference_mode():
        assert torch.equal(decode(net, asked, ids), net(prompt, ids, 3))
