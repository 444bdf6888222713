"""Binary multiplication: put out the product of two binary numbers of any sizes."""

from typing import Any

from posenc.tasks.shared.binary_operation import BinaryOperation


class BinaryMultiplication(BinaryOperation):
    """Two binary numbers in, the product out; length counts the tokens of the prompt, `*` included.

        prompt  1 1 0 * 0 1
        answer  0 1 1 end

    That is 3 * 2 = 6: the least significant bit comes first. Order matters. The first number has
    from 1 to n - 2 bits, each size as likely, and the second one the rest. A number of b bits is
    uniform over 1 ... 2^b - 1 and filled up with zeros at its end; the product has no zeros there,
    and `end` follows it. Delétang et al. 2022 (arXiv:2207.02098), Ruoss et al. 2023
    (arXiv:2305.16843). As in their code, 1 token is the number 0, answered by `end` alone, and 2
    tokens are a number from 0 to 2, answered by 0.
    """

    sign = "*"
    spare = 0

    def result(self, first: Any, second: Any) -> Any:
        return first * second
