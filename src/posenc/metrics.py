"""Loss and metrics of answers, over the tokens that are scored."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad
from torchmetrics import Metric

UNSCORED = -100
"""The target that `cross_entropy` leaves out."""


def answer_loss(
    logits: Tensor, answer: Tensor, scored: Tensor | None, *, reduction: str = "mean"
) -> Tensor:
    """(B,A,V), (B,A), (B,A) bool or None -> mean or sum of the cross-entropy, in nats a token."""
    targets = answer if scored is None else answer.masked_fill(~scored, UNSCORED)
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)


class AnswerMetrics(Metric):
    """Exact match over answers, accuracy over their judged tokens, loss over their scored ones.

    `tokens` counts the judged tokens at each place of an answer, and `correct` the right ones.

    Under teacher forcing (a decoder) token accuracy sees the right answer so far; exact match does
    not depend on that, since the first wrong token decides it.
    """

    full_state_update = False
    answers: Tensor
    exact: Tensor
    tokens: Tensor
    correct: Tensor
    loss: Tensor
    asked: Tensor

    def __init__(self) -> None:
        super().__init__(sync_on_compute=False)  # one rank may evaluate alone
        for name in ("answers", "exact", "asked"):
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        for name in ("tokens", "correct"):
            self.add_state(name, torch.zeros(1, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("loss", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")

    def update(
        self,
        logits: Tensor,
        answer: Tensor,
        scored: Tensor | None = None,
        judged: Tensor | None = None,
    ) -> None:
        """(B,A,V), (B,A), (B,A) bool or None: all are scored; (B,A) bool or None: so are judged."""
        right = logits.argmax(dim=-1) == answer
        if scored is None:
            scored = torch.ones_like(right)
        if judged is None:
            judged = scored
        self.answers += len(answer)
        self.exact += (right | ~judged).all(dim=1).sum()
        self.tokens = _added(self.tokens, judged.sum(dim=0))
        self.correct = _added(self.correct, (right & judged).sum(dim=0))
        self.asked += scored.sum()
        self.loss += answer_loss(logits.float(), answer, scored, reduction="sum")

    def compute(self) -> dict[str, Tensor]:
        """Scalars `exact`, `token_accuracy` and `loss`."""
        return {
            "exact": self.exact.double() / self.answers,  # float32 would put 0.9 below 0.9
            "token_accuracy": self.correct.sum().double() / self.tokens.sum(),
            "loss": self.loss / self.asked,
        }


def _added(counts: Tensor, more: Tensor) -> Tensor:
    """The sum of counts by place; where one has fewer places, it counts nothing there."""
    places = max(len(counts), len(more))
    return pad(counts, (0, places - len(counts))) + pad(more, (0, places - len(more)))
