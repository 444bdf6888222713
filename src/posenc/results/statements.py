"""Statements about runs, such as `exact(t5, 24) > exact(rope, 24) + 0.1`, read and measured.

A statement compares two sums of numbers and of these, where E is the label of an encoding, in
quotes unless it is one word:

    exact(E, 24)  token(E, 24)  bits(E, 24)   at one tested length; bits a token
    exact(E, 21, 40)                          averaged over all lengths from 21 to 40, where those
                                              between tested ones lie on a line
    in_range(E)  score(E)  token_score(E)     averaged over the trained lengths, or all beyond them
    holds_to(E)                               the longest length up to which exact match is >= 0.9
    chance(24)  token_chance(24)  abs(x)      exact match and token accuracy of a guess

In place of a length stands `each` where the statement has to be true at every length tested. All
that a statement compares is of one metric: exact match, token accuracy, bits or a length.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple

from posenc.results import statistics
from posenc.results.panels import Panel, Run

CURVES = {"exact": "exact", "token": "token_accuracy", "bits": "bits"}
SUMS = {"in_range": "trained_mean", "score": "score", "token_score": "token_score"}
GUESSES: dict[str, Callable[[Panel], list[float]]] = {
    "chance": lambda panel: panel.chance,
    "token_chance": lambda panel: panel.token_chance,
}
HELD = "holds_to"
METRIC = {
    **CURVES,
    **dict.fromkeys(["in_range", "score", "chance"], "exact"),
    **dict.fromkeys(["token_score", "token_chance"], "token_accuracy"),
    HELD: "length",
}
"""Function -> what it measures."""
EACH = "each"
SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
LONGEST, LARGEST = 400, 1e9
"""Characters of a statement, and numbers in it: none comes near, and no sum of them overflows."""
KNOWN = ", ".join([*CURVES, *SUMS, *GUESSES, HELD, "abs"])


class Unmeasured(LookupError):
    """The runs do not tell what a statement asks for; the message says what is missing."""


class Scope(NamedTuple):
    """What a statement is measured on: runs of one seed by label, and the length that is EACH."""

    panel: Panel
    runs: Mapping[str, Run]
    length: int


Value = Callable[[Scope], float]


class Statement:
    """A comparison that was read. Raises ValueError, saying what is wrong, for any other text."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"is longer than {LONGEST} characters")
        self.text = text
        self.labels: dict[str, None] = {}
        """Of the contenders that it names, in their order."""
        self._metrics: set[str] = set()
        self._each = False
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            raise ValueError("is no comparison such as exact(rope, 40) > 0.9") from None
        match tree:
            case ast.Compare(left=larger, ops=[ast.Gt()], comparators=[smaller]):
                pass
            case ast.Compare(left=smaller, ops=[ast.Lt()], comparators=[larger]):
                pass
            case _:
                raise ValueError("is no single comparison with < or >")
        self._larger, self._smaller = self._read(larger), self._read(smaller)
        if not self.labels:
            raise ValueError("names no encoding")
        if len(self._metrics) > 1:
            raise ValueError(f"compares different things: {', '.join(sorted(self._metrics))}")
        (self.metric,) = self._metrics
        """What it compares: exact, token_accuracy, bits or length."""

    def lengths(self, panel: Panel) -> list[int]:
        """Those at which it has to be true; any one where it names its own."""
        return panel.lengths if self._each else panel.lengths[:1]

    def margin(self, scope: Scope) -> float:
        """By how much it is true; negative where it is not. Raises Unmeasured."""
        margin = self._larger(scope) - self._smaller(scope)
        if not math.isfinite(margin):  # the loss of a network that broke
            raise Unmeasured("a loss is no number")
        return margin

    def _read(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number) if _is_number(number):
                return lambda scope: number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                positive = self._read(operand)
                return lambda scope: -positive(scope)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in SIGNS:
                combine, a, b = SIGNS[type(sign)], self._read(left), self._read(right)
                return lambda scope: combine(a(scope), b(scope))
            case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
                signed = self._read(inner)
                return lambda scope: abs(signed(scope))
            case ast.Call(func=ast.Name(id=name), args=[first, *rest], keywords=[]) if (
                name in METRIC
            ):
                self._metrics.add(METRIC[name])
                if name in CURVES:
                    return self._on_curve(CURVES[name], self._label(first), rest)
                if not rest:
                    return self._whole(name, first)
        raise ValueError(f"{ast.unparse(node)} is neither a number nor a right use of {KNOWN}")

    def _whole(self, name: str, argument: ast.expr) -> Value:
        """What takes one thing: a length, of a guess, or an encoding."""
        if name in GUESSES:
            curve, place = GUESSES[name], self._place(argument)
            return lambda scope: _at(scope.panel, curve(scope.panel), place(scope))
        label = self._label(argument)
        if name == HELD:
            return lambda scope: scope.runs[label].holds_to or 0
        return self._summed(SUMS[name], label)

    def _on_curve(self, curve: str, label: str, where: list[ast.expr]) -> Value:
        match where:
            case [length]:
                place = self._place(length)
                return lambda s: _at(s.panel, s.runs[label].curves[curve], place(s))
            case [ast.Constant(value=int() as low), ast.Constant(value=int() as high)] if (
                low <= high and _is_number(low) and _is_number(high)
            ):
                return lambda s: _mean(s.panel, s.runs[label].curves[curve], low, high)
        raise ValueError(f"{label}: takes one length, or two, the first and the last of an average")

    def _summed(self, number: str, label: str) -> Value:
        def value(scope: Scope) -> float:
            found: float | None = getattr(scope.runs[label], number)
            if found is None:
                raise Unmeasured(f"{number}: no such length was tested")
            return found

        return value

    def _label(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=label) | ast.Constant(value=str() as label) if label:
                self.labels[label] = None
                return label
        raise ValueError(
            f"{ast.unparse(node)} is no label of an encoding; quote one that is not one word"
        )

    def _place(self, node: ast.expr) -> Callable[[Scope], int]:
        match node:
            case ast.Constant(value=int() as length) if _is_number(length):
                return lambda scope: length
            case ast.Name(id=name) if name == EACH:
                self._each = True
                return lambda scope: scope.length
        raise ValueError(f"{ast.unparse(node)} is neither a length nor {EACH}")


def _is_number(value: float) -> bool:
    return not isinstance(value, bool) and abs(value) <= LARGEST


def _at(panel: Panel, curve: list[float], length: int) -> float:
    if length not in panel.lengths:
        raise Unmeasured(f"length {length} was not tested")
    return curve[panel.lengths.index(length)]


def _mean(panel: Panel, curve: list[float], low: int, high: int) -> float:
    """Over all lengths from low to high, linear between those that were tested."""
    _at(panel, curve, high)
    if low < panel.lengths[0]:
        raise Unmeasured(f"no length below {panel.lengths[0]} was tested")
    end = panel.lengths.index(high) + 1
    mean = statistics.score(panel.lengths[:end], curve[:end], low - 1)
    if mean is None:
        raise Unmeasured(f"no length from {low} to {high}")
    return mean
