"""Evaluation is a pure function, and what it says of known networks is known beforehand."""

import math
from statistics import fmean

import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

from posenc import evaluation
from posenc.encodings.base import Encoding
from posenc.evaluation import by_length
from posenc.metrics import AnswerMetrics
from posenc.model.layout import arrange
from posenc.portrait import model_for
from posenc.positions.base import Slots
from posenc.positions.index import Index
from posenc.positions.random import Random
from posenc.seeding import generator
from posenc.shapes import Shape
from posenc.tasks.copy import Copy
from posenc.tasks.who_bit_whom import WhoBitWhom


class Stub(nn.Module):
    """Says for every prompt what `answer` makes of it, and is sure of it; 0 where nothing is asked.

    Where a task asks in place it knows the tokens that are asked.
    """

    def __init__(self, task, answer, *, causal=False):
        super().__init__()
        self.task = task
        self.shape = Shape(width=4, heads=1, layers=1, causal=causal)
        self.encoding = Encoding(self.shape)
        self.ask = len(task.vocabulary)
        self.embedding = nn.Embedding(1, 1)
        self.answer = answer

    def contexts(self, ids, answers):
        return []

    def forward(self, tokens, ids, answers, contexts):
        assert not self.training
        asked = self.task.asked(tokens)
        prompts = tokens if asked is not None else tokens[:, : tokens.shape[1] - answers]
        said = torch.zeros(len(tokens), answers, dtype=torch.int64)
        for row, prompt in enumerate(prompts.tolist()):
            answer = torch.tensor(self.answer(prompt))
            place = torch.arange(len(answer)) if asked is None else asked[row].nonzero().flatten()
            said[row, place] = answer
        return 1000.0 * one_hot(said, self.ask)


def first_noun_of_the_vocabulary(prompt):
    """A guess from the bag of words: of the two nouns, always the one that is listed first."""
    return [min(token for token in prompt if 2 <= token < 10)]


def within(scores, samples=512, seed=0):
    """3 standard errors of a share of `samples`."""
    return 3 * (scores * (1 - scores) / samples) ** 0.5


@pytest.mark.parametrize("causal", [False, True])
def test_a_perfect_network_scores_one(task_name, built, causal):
    task = built(f"task={task_name}", "model=decoder").task
    lengths = task.lengths(1, 20)[-4:]
    for score in by_length(
        Stub(task, task.solve, causal=causal), task, Index(), lengths, samples=16, seed=0
    ):
        assert (score.exact, score.token_accuracy, score.loss, score.n) == (1.0, 1.0, 0.0, 16)


def test_lengths_are_those_asked_for_in_their_order():
    task = Copy(symbols=5)
    scores = by_length(Stub(task, task.solve), task, Index(), [7, 2, 5], samples=3, seed=0)
    assert [score.length for score in scores] == [7, 2, 5]


def test_a_bag_of_words_scores_chance():
    task = WhoBitWhom()
    stub = Stub(task, first_noun_of_the_vocabulary)
    for score in by_length(stub, task, Index(), [5, 12, 40], samples=2000, seed=0):
        assert score.exact == pytest.approx(0.5, abs=within(0.5, 2000))


def test_token_accuracy_counts_tokens_and_exact_match_answers():
    task = Copy(symbols=50)
    stub = Stub(task, lambda prompt: [*prompt[:-1], (prompt[-1] + 1) % 50])
    (score,) = by_length(stub, task, Index(), [5], samples=64, seed=0)
    assert (score.exact, score.token_accuracy) == (0.0, pytest.approx(0.8))
    assert score.loss == pytest.approx(1000 / 5)


@pytest.fixture(params=["index", "random", "random_float", "interpolated", "shifted", "shuffled"])
def experiment(request, built):
    policies = {"random": ["positions.draws=2"], "shifted": ["positions.at_eval=resample"]}
    return built(
        "encoding=sinusoidal", "model=decoder", "task=reverse", "model.dropout=0.3",
        f"positions={request.param}", *policies.get(request.param, []),
    )  # fmt: skip


def scored(experiment, lengths=(3, 8), samples=40, seed=0):
    return by_length(
        experiment.net, experiment.task, experiment.positions, lengths, samples=samples, seed=seed
    )


def test_nothing_is_left_behind(experiment):
    torch.manual_seed(3)
    before, net = torch.get_rng_state(), experiment.net
    weights = {key: value.clone() for key, value in net.state_dict().items()}
    first = scored(experiment)
    for training in (True, False):
        net.train(training)
        assert scored(experiment) == first
        assert all(module.training == training for module in net.modules())
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, weights[key]) for key, value in net.state_dict().items())
    assert all(parameter.grad is None for parameter in net.parameters())
    assert not torch.is_inference_mode_enabled()


def test_the_mode_comes_back_after_a_failure(experiment):
    experiment.net.train()
    with pytest.raises(ZeroDivisionError):
        by_length(
            experiment.net,
            experiment.task,
            experiment.positions,
            (1 // n for n in (1, 0)),
            samples=2,
            seed=0,
        )
    assert experiment.net.training


def test_a_length_is_asked_the_same_whatever_else_is_asked(experiment):
    torch.manual_seed(1)
    assert scored(experiment, (8,)) == scored(experiment, (3, 5, 8))[-1:]
    assert scored(experiment, seed=1) != scored(experiment, seed=0)


def test_the_size_of_a_forward_pass_changes_no_result(experiment, monkeypatch):
    whole = scored(experiment)
    for tokens in (1, 50, 100):
        monkeypatch.setattr(evaluation, "TOKENS_AT_ONCE", tokens)
        for one, other in zip(scored(experiment), whole, strict=True):
            assert (one.exact, one.token_accuracy) == (other.exact, other.token_accuracy)
            assert one.loss == pytest.approx(other.loss, rel=1e-5)


def test_a_forward_pass_is_bounded(experiment, monkeypatch):
    monkeypatch.setattr(evaluation, "TOKENS_AT_ONCE", 64)
    seen = []
    experiment.net.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].numel()))
    scored(experiment)
    assert max(seen) <= 64
    assert sum(seen) == experiment.positions.draws * 40 * (6 + 16)


def test_draws_of_the_ids_are_averaged(built):
    experiment = built("encoding=sinusoidal", "task=reverse", "positions=random")
    net, task = experiment.net.eval(), experiment.task
    sample = task.sample(40, 4, generator(0, "evaluation", 4))
    tokens = arrange(sample, ask=net.ask, causal=False)
    singles = []
    with torch.inference_mode():
        for draw in range(3):
            stream = generator(0, "evaluation positions", 4, draw)
            metrics = AnswerMetrics()
            metrics.update(net(tokens, Random().evaluate(Slots(40, 8), stream), 4), sample.answer)
            singles.append(metrics.compute())
    (score,) = by_length(net, task, Random(draws=3), [4], samples=40, seed=0)
    assert score.n == 40
    for name in ("exact", "token_accuracy", "loss"):
        values = [single[name].item() for single in singles]
        assert len(set(values)) > 1 or name == "exact"
        assert getattr(score, name) == pytest.approx(fmean(values), rel=1e-5)


def test_every_encoding_is_asked_the_same_problems(encoding_name, built):
    seen = []
    for name in ("none", encoding_name):
        experiment = built(f"encoding={name}", "model=decoder", "task=copy", "positions=random")
        experiment.net.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[:2]))
        scored(experiment, (5,))
    (tokens, ids), (other_tokens, other_ids) = seen
    assert torch.equal(tokens, other_tokens)
    owns = other_ids.unbind(-1) if other_ids.dim() == 3 else [other_ids]  # of each of its parts
    assert all(torch.equal(ids, own) for own in owns)


def test_an_evaluation_does_not_spoil_training(encoding_name, model_name, built, learned):
    """Whatever an encoding makes under inference mode must not enter a later backward pass."""
    settings = (
        f"encoding={encoding_name}",
        f"model={model_name}",
        "task=reverse",
        "length.train=6",
    )
    evaluated, untouched = built(*settings), built(*settings)
    scored(evaluated, (5, 30))
    weights = learned(evaluated, 3, rows=8).state_dict()
    for key, value in learned(untouched, 3, rows=8).state_dict().items():
        assert torch.equal(weights[key], value), key
        assert value.isfinite().all()


def test_no_untrained_network_beats_chance(encoding_name, model_name, built):
    experiment = built(f"encoding={encoding_name}", f"model={model_name}")
    for score in scored(experiment, (5, 20, 40), samples=512):
        chance = experiment.task.chance(score.length).exact
        assert score.exact <= chance + within(chance)


def test_no_untrained_network_beats_chance_at_any_task(task_name, built):
    experiment = built(
        f"task={task_name}", f"model={model_for(task_name, 'task')}", "encoding=none"
    )
    legal = experiment.task.lengths(5, 20)
    for score in scored(experiment, (legal[0], legal[-1]), samples=512):
        chance = experiment.task.chance(score.length).exact
        assert score.exact <= chance + within(chance)


def test_an_encoder_without_encoding_learns_the_bag_and_no_more(built, learned):
    experiment = built("encoding=none", "model.layers=1", "length.train=12")
    net = learned(experiment, 150)
    lengths, samples = [5, 6, 8, 12, 20], 1000
    for score in by_length(
        net, experiment.task, experiment.positions, lengths, samples=samples, seed=0
    ):
        assert score.exact <= 0.5 + within(0.5, samples)
        if score.length in experiment.trained:
            assert score.exact >= 0.5 - within(0.5, samples), score.length


def test_order_lifts_the_same_network_above_chance(built, learned):
    """So the test above fails wherever order leaks into a network that has none."""
    experiment = built("encoding=sinusoidal", "model.layers=1", "length.train=6")
    net = learned(experiment, 150)
    (score,) = by_length(net, experiment.task, experiment.positions, [5], samples=500, seed=0)
    assert score.exact > 0.5 + within(0.5, 500)


def test_the_loss_of_an_untrained_network_is_near_that_of_a_uniform_guess(built):
    experiment = built("encoding=none", "task=copy")
    (score,) = scored(experiment, (6,))
    assert score.loss == pytest.approx(math.log(100), abs=0.7)
