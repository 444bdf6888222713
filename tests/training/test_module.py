"""One training step: what it computes, and where its random numbers come from."""

import pytest
import torch

from posenc.building import batches, build, optimizer_maker
from posenc.checkpoint import read_checkpoint
from posenc.metrics import answer_loss
from posenc.model.layout import arrange, slots
from posenc.positions.base import Slots
from posenc.schema import CHOICES
from posenc.seeding import generator
from posenc.training.module import AnswerModule

ALONE = {"seed": 3, "accumulate": 1, "clip": None, "compiled": False, "pause": lambda step: True}


@pytest.fixture
def module(built, model_name):
    experiment = built(
        "positions=random", "task=reverse", f"model={model_name}", "model.dropout=0.5"
    )
    return AnswerModule(experiment.net, experiment.positions, lambda net: None, **ALONE)


@pytest.fixture
def batch(built):
    return built("task=reverse").task.sample(4, 6, generator(0, "batch"))


def test_the_loss_is_that_of_the_network_on_drawn_ids(module, batch):
    module.eval()
    loss, logits = module.loss(batch, 5)
    ids = module.positions.train(Slots(4, 12), generator(3, "positions", 5))
    net = module.net
    shown = arrange(batch, ask=net.ask, causal=net.shape.causal)
    assert torch.equal(logits, net(shown, ids, 6))
    assert torch.equal(loss, answer_loss(logits, batch.answer, None))


def test_what_is_not_scored_is_not_learned(module, batch):
    module.eval()
    scored = torch.zeros_like(batch.answer, dtype=torch.bool)
    scored[:, :2] = True
    loss, logits = module.loss(batch._replace(scored=scored), 0)
    torch.testing.assert_close(loss, answer_loss(logits[:, :2], batch.answer[:, :2], None))


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("clip", [None, 0.05])
def test_training_is_the_loop_that_one_would_write_by_hand(runs, accumulate, clip):
    settings = (
        f"trainer.accumulate_grad_batches={accumulate}",
        f"trainer.gradient_clip_val={'null' if clip is None else clip}",
        "trainer.max_steps=8", "positions=random",
    )  # fmt: skip
    config = runs.config(*settings)
    experiment = build(config)
    net, data = experiment.net, batches(config, experiment)
    optimizer, schedule = optimizer_maker(config)(net)
    for step in range(8):
        optimizer.zero_grad()
        for number in range(accumulate * step, accumulate * (step + 1)):
            _, answer, scored, *_ = data[number]
            tokens = arrange(data[number], ask=net.ask, causal=net.shape.causal)
            stream = generator(config.seed, "positions", number)
            ids = experiment.positions.train(slots(data[number], causal=True), stream)
            loss = answer_loss(net(tokens, ids, answer.shape[1]), answer, scored)
            (loss / accumulate).backward()
        if clip is not None:
            assert torch.nn.utils.clip_grad_norm_(net.parameters(), clip) > clip
        optimizer.step()
        schedule.step()
    kept = read_checkpoint(runs(*settings).checkpoint)
    assert kept["global_step"] == 8
    for name, weight in net.state_dict().items():
        assert torch.equal(kept["state_dict"][f"net.{name}"], weight)


@pytest.mark.parametrize("precision", CHOICES["trainer.precision"])
def test_every_precision_trains_and_evaluates(runs, precision):
    folder = runs(f"trainer.precision={precision}", "trainer.max_steps=4", "data.batch_size=64")
    (row,) = folder.read_rows("lengths.csv")
    assert 0 < row["loss"] < 10
    kind = torch.float64 if precision == "64-true" else torch.float32
    weights = read_checkpoint(folder.checkpoint)["state_dict"].values()
    assert {weight.dtype for weight in weights} == {kind}


def test_draws_are_addressed_by_the_number_of_the_batch(module, batch):
    def step(number):
        torch.manual_seed(number + 100)
        module._seed_dropout(number)
        return module.train().loss(batch, number)[0].item()

    first = step(0)
    assert step(1) != first
    assert step(0) == first
    module.seed = 4
    assert step(0) != first


def test_without_dropout_the_global_generator_is_left_alone(built, batch):
    experiment = built("positions=random", "task=reverse")
    module = AnswerModule(experiment.net, experiment.positions, lambda net: None, **ALONE)
    before = torch.get_rng_state()
    module._seed_dropout(0)
    module.train().loss(batch, 0)
    assert torch.equal(torch.get_rng_state(), before)
