"""Repeat one token twice as often: put out two for each that came in."""

from posenc.tasks.repeat_token import RepeatToken


class RepeatTwice(RepeatToken):
    """One symbol n times in, 2n times out; length counts the tokens of the prompt.

        prompt  9 9 9
        answer  9 9 9 9 9 9

    Order does not matter: like repeat_token it is a control that tests coping with the length
    alone. The symbol is uniform over 100 by default: Kazemnejad et al. 2023 (arXiv:2305.19466), who
    train on up to 20 tokens and test on up to 40.
    """

    times = 2
