"""One training step: what it computes, and where its random numbers come from."""

import pytest
import torch

from posenc.checkpoint import read_checkpoint
from posenc.metrics import answer_loss
from posenc.model.layout import arrange
from posenc.schema import CHOICES
from posenc.seeding import generator
from posenc.training.module import AnswerModule


@pytest.fixture
def module(built, model_name):
    experiment = built(
        "positions=random", "task=reverse", f"model={model_name}", "model.dropout=0.5"
    )
    return AnswerModule(experiment.net, experiment.positions, lambda net: None, seed=3)


@pytest.fixture
def batch(built):
    return built("task=reverse").task.sample(4, 6, generator(0, "batch"))


def test_a_step_is_the_loss_of_the_network_on_drawn_ids(module, batch):
    module.eval()
    result = module.training_step(batch, 5)
    ids = module.positions.train(4, 12, generator(3, "positions", 5))
    net = module.net
    shown = arrange(batch.prompt, batch.answer, ask=net.ask, causal=net.shape.causal)
    logits = net(shown, ids, 6)
    assert torch.equal(result["logits"], logits)
    assert torch.equal(result["loss"], answer_loss(logits, batch.answer, None))
    assert result["loss"].requires_grad
    assert not result["logits"].requires_grad


def test_what_is_not_scored_is_not_learned(module, batch):
    module.eval()
    scored = torch.zeros_like(batch.answer, dtype=torch.bool)
    scored[:, :2] = True
    loss = module.training_step(batch._replace(scored=scored), 0)["loss"]
    logits = module.training_step(batch, 0)["logits"]
    torch.testing.assert_close(loss, answer_loss(logits[:, :2], batch.answer[:, :2], None))


def test_gradients_are_clipped_by_the_norm_of_all_together(module, batch):
    def norm():
        parts = [p.grad.norm() for p in module.net.parameters() if p.grad is not None]
        return torch.stack(parts).norm().item()

    module.training_step(batch, 0)["loss"].backward()
    free = norm()
    module.configure_gradient_clipping(None, 2 * free)
    assert norm() == pytest.approx(free)
    module.configure_gradient_clipping(None, free / 3)
    assert norm() == pytest.approx(free / 3, rel=1e-4)


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
        module.on_train_batch_start(batch, number)
        return module.train().training_step(batch, number)["loss"].item()

    first = step(0)
    assert step(1) != first
    assert step(0) == first
    module.seed = 4
    assert step(0) != first


def test_without_dropout_the_global_generator_is_left_alone(built, batch):
    experiment = built("positions=random", "task=reverse")
    module = AnswerModule(experiment.net, experiment.positions, lambda net: None, seed=3)
    before = torch.get_rng_state()
    module.on_train_batch_start(batch, 0)
    module.train().training_step(batch, 0)
    assert torch.equal(torch.get_rng_state(), before)
