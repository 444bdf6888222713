"""Loss and metrics on answers that are known to be right, wrong or not counted."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot

from posenc.metrics import AnswerMetrics, answer_loss

ANSWER = torch.tensor([[0, 1, 2], [2, 2, 1], [1, 0, 0], [0, 0, 0]])
SCORED = torch.tensor(
    [[True, True, False], [True, True, True], [True, False, False], [True, True, False]]
)
"""Each row ends with a terminator that counts; what pads it does not."""
V = 3


def saying(tokens):
    """(B,A) -> logits of a network that is sure of these tokens."""
    return 1000.0 * one_hot(tokens, V).float()


def measured(*updates):
    metrics = AnswerMetrics()
    for update in updates:
        metrics.update(*update)
    return {name: value.item() for name, value in metrics.compute().items()}


@pytest.mark.parametrize("scored", [None, SCORED])
def test_a_perfect_network(scored):
    expected = {"exact": 1.0, "token_accuracy": 1.0, "loss": 0.0}
    assert measured((saying(ANSWER), ANSWER, scored)) == expected


@pytest.mark.parametrize("scored", [None, SCORED])
def test_a_blind_network(scored):
    """Equal logits: it says 0 everywhere, and its loss is the logarithm of the vocabulary."""
    scores = measured((torch.zeros(4, 3, V), ANSWER, scored))
    assert scores["loss"] == pytest.approx(math.log(V))
    assert scores["exact"] == 1 / 4
    # Zeros among the answers: 6 of 12, and among the 8 that are scored 3.
    assert scores["token_accuracy"] == (6 / 12 if scored is None else 3 / 8)


def test_exact_match_and_token_accuracy_by_hand():
    said = ANSWER.clone()
    said[0, 2] = 0  # wrong where nothing is scored
    said[1, 1] = 0  # one of three
    said[2, 0] = 2  # the only one that is scored
    assert measured((saying(said), ANSWER, SCORED))["exact"] == 2 / 4
    assert measured((saying(said), ANSWER, SCORED))["token_accuracy"] == 6 / 8
    assert measured((saying(said), ANSWER))["exact"] == 1 / 4
    assert measured((saying(said), ANSWER))["token_accuracy"] == 9 / 12


def test_what_is_not_scored_has_no_influence():
    logits = torch.randn(4, 3, V, generator=torch.Generator().manual_seed(0))
    others, answers = logits.clone(), ANSWER.clone()
    others[~SCORED] = -7 * others[~SCORED]
    answers[~SCORED] = (answers[~SCORED] + 1) % V
    assert measured((others, answers, SCORED)) == measured((logits, ANSWER, SCORED))
    assert answer_loss(others, answers, SCORED) == answer_loss(logits, ANSWER, SCORED)
    logits.requires_grad_()
    answer_loss(logits, ANSWER, SCORED).backward()
    assert (logits.grad[~SCORED] == 0).all()
    assert (logits.grad[SCORED] != 0).any(-1).all()


@pytest.mark.parametrize("scored", [None, SCORED])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_loss_is_the_cross_entropy_of_scored_tokens(scored, reduction):
    logits = torch.randn(4, 3, V, generator=torch.Generator().manual_seed(0))
    counted = torch.ones_like(SCORED) if scored is None else scored
    expected = cross_entropy(logits[counted], ANSWER[counted], reduction=reduction)
    torch.testing.assert_close(
        answer_loss(logits, ANSWER, scored, reduction=reduction), expected, atol=1e-6, rtol=1e-6
    )
    if reduction == "mean":
        assert measured((logits, ANSWER, scored))["loss"] == pytest.approx(expected.item())


def test_unequal_batches_count_by_answers_and_tokens():
    """The mean over everything, not the mean of the batches' means."""
    logits = torch.randn(4, 3, V, generator=torch.Generator().manual_seed(0))
    parts = [(logits[part], ANSWER[part], SCORED[part]) for part in (slice(0, 1), slice(1, 4))]
    assert measured(*parts) == pytest.approx(measured((logits, ANSWER, SCORED)))
    assert measured(*parts)["token_accuracy"] != pytest.approx(
        sum(measured(part)["token_accuracy"] for part in parts) / 2
    )


def test_half_precision_logits_do_not_coarsen_the_sum():
    logits = torch.randn(4, 3, V, generator=torch.Generator().manual_seed(0)).bfloat16()
    many = [(logits, ANSWER, SCORED)] * 500
    assert measured(*many)["loss"] == pytest.approx(measured(many[0])["loss"], rel=1e-6)


def test_metrics_look_at_what_is_judged_and_the_loss_at_what_is_scored():
    judged = torch.zeros_like(SCORED)
    judged[:, 0] = True
    said = ANSWER.clone()
    said[:, 1] = (ANSWER[:, 1] + 1) % V
    logits = saying(said) / 1000
    scores = measured((logits, ANSWER, SCORED, judged))
    assert (scores["exact"], scores["token_accuracy"]) == (1.0, 1.0)
    assert scores["loss"] == pytest.approx(answer_loss(logits, ANSWER, SCORED).item())
    assert measured((logits, ANSWER, SCORED))["exact"] == pytest.approx(1 / 4)


def test_places_count_from_the_start_of_answers_whatever_their_size():
    metrics = AnswerMetrics()
    said = ANSWER.clone()
    said[1, 1] = 0
    metrics.update(saying(said), ANSWER, SCORED)
    metrics.update(saying(ANSWER[:, :1]), ANSWER[:, :1])
    assert metrics.tokens.tolist() == [8, 3, 1]
    assert metrics.correct.tolist() == [8, 2, 1]
    metrics.reset()
    metrics.update(saying(ANSWER[:, :1]), ANSWER[:, :1])
    assert metrics.tokens.tolist() == [4]
