"""What a network is shown of a problem, token by token."""

import torch

from posenc.model.layout import arrange, slots
from posenc.tasks.base import Sample

PROMPT = torch.tensor([[1, 2, 3], [4, 5, 6]])
ANSWER = torch.tensor([[7, 8], [9, 7]])
ASK = 10


def test_an_encoder_gets_identical_slots():
    tokens = arrange(Sample(PROMPT, ANSWER), ask=ASK, causal=False)
    assert tokens.tolist() == [[1, 2, 3, ASK, ASK], [4, 5, 6, ASK, ASK]]


def test_a_decoder_gets_a_separator_and_the_answer_one_token_late():
    tokens = arrange(Sample(PROMPT, ANSWER), ask=ASK, causal=True)
    assert tokens.tolist() == [[1, 2, 3, ASK, 7], [4, 5, 6, ASK, 9]]


def test_no_place_shows_the_token_it_is_asked_for():
    """Changing an answer token changes nothing up to and including the place that predicts it."""
    for causal in (False, True):
        before = arrange(Sample(PROMPT, ANSWER), ask=ASK, causal=causal)
        for place in range(ANSWER.shape[1]):
            changed = ANSWER.clone()
            changed[:, place:] += 1
            after = arrange(Sample(PROMPT, changed), ask=ASK, causal=causal)
            upto = PROMPT.shape[1] + place + 1
            assert torch.equal(after[:, :upto], before[:, :upto])


def test_the_arguments_are_left_alone():
    prompt, answer = PROMPT.clone(), ANSWER.clone()
    arrange(Sample(prompt, answer), ask=ASK, causal=True)
    assert torch.equal(prompt, PROMPT)
    assert torch.equal(answer, ANSWER)


def test_answers_in_place_add_no_token():
    marks = torch.arange(6).view(2, 3)
    sample = Sample(PROMPT, PROMPT + 1, places=marks, coordinates=marks[..., None], in_place=True)
    for causal in (False, True):
        assert torch.equal(arrange(sample, ask=ASK, causal=causal), PROMPT)
        known = slots(sample, causal=causal)
        assert known[:2] == (2, 3)
        assert torch.equal(known.places, marks)
        assert torch.equal(known.coordinates, marks[..., None])
