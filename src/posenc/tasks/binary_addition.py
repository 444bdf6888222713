"""Binary addition: put out the sum of two binary numbers of any sizes."""

from typing import Any

from posenc.tasks.shared.binary_operation import BinaryOperation


class BinaryAddition(BinaryOperation):
    """Two binary numbers in, their sum out; length counts the tokens of the prompt, `+` included.

        prompt  1 1 0 + 0 1
        answer  1 0 1 end

    That is 3 + 2 = 5: the least significant bit comes first. Order matters. The first number has
    from 1 to n - 2 bits, each size as likely, and the second one the rest. A number of b bits is
    uniform over 1 ... 2^b - 1 and filled up with zeros at its end; the sum has no zeros there, and
    `end` follows it. Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023 (arXiv:2305.16843),
    whose table shows numbers with the most significant bit first, unlike their code. As in that, 1
    token is the number 0, and 2 tokens are one from 0 to 2; the answer is that number.
    """

    sign = "+"
    spare = 1

    def result(self, first: Any, second: Any) -> Any:
        return first + second
