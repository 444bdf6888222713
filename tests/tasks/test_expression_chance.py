"""What a bag tells of the value of a bracketed expression, and of the digit hidden in one."""

from collections import Counter, defaultdict

import pytest

import posenc.tasks.modular_arithmetic_brackets as by_value
import posenc.tasks.solve_equation as by_digit
from posenc.tasks.modular_arithmetic_brackets import ModularArithmeticBrackets
from posenc.tasks.solve_equation import SolveEquation


def best_guess(prompts_answers_weights):
    bags = defaultdict(Counter)
    for text, answer, weight in prompts_answers_weights:
        bags["".join(sorted(text))][answer] += weight
    return sum(max(counts.values()) for counts in bags.values())


def test_chance_is_that_of_the_best_guess():
    """At 5 tokens: ( d op d ), all as likely; at 6, one of the digits has a sign."""
    for digits, length in ((["{}{}{}"], 5), (["-{}{}{}", "{}{}-{}"], 6)):
        problems = [
            (text := f"({form.format(a, operator, b)})", eval(text) % 5, 1 / 75 / len(digits))
            for form in digits
            for a in range(5)
            for operator in "+-*"
            for b in range(5)
        ]
        best = best_guess(problems)
        assert ModularArithmeticBrackets().chance(length) == pytest.approx((best, best))
    problems = [
        (text, eval(f"{a}{operator}{b}") % 5, 1)
        for a in range(5)
        for operator in "+-"
        for b in range(5)
        for text in [f"{a}{operator}{b}"]
    ]
    equations = []
    for text, value, _ in problems:
        # ( d op d ): places 4, 0, 1 move on to the first digit, 2 and 3 to the second
        equations.append((f"(x{text[1:]})={value}", int(text[0]), 3 / 250))
        equations.append((f"({text[:2]}x)={value}", int(text[2]), 2 / 250))
    best = best_guess(equations)
    assert SolveEquation().chance(7) == pytest.approx((best, best))


@pytest.mark.parametrize("length", [13, 15, 20, 25, 30])
def test_estimated_chance(length):
    """Against guesses that had met 500 prompts of every bag."""
    brackets = {13: 0.5016, 15: 0.4363, 20: 0.3428, 25: 0.3083, 30: 0.2962}
    equations = {13: 0.5053, 15: 0.4257, 20: 0.3128, 25: 0.2736, 30: 0.2476}
    for task, measured in ((ModularArithmeticBrackets(), brackets), (SolveEquation(), equations)):
        assert task.chance(length).token == pytest.approx(measured[length], abs=0.03)


def test_without_products_a_bag_tells_something_of_longer_expressions():
    """At 35 tokens a guesser that had met 500 prompts of every bag was right in .220 of them."""
    task = ModularArithmeticBrackets(products=False)
    assert task.chance(35).token == pytest.approx(0.22, abs=0.015)
    assert task.chance(80).token == pytest.approx(0.2)


@pytest.mark.parametrize("products", [True, False])
def test_estimated_chance_goes_on_from_the_exact_one(products, monkeypatch):
    task = ModularArithmeticBrackets(products=products)
    exact = [task.chance(length).token for length in (9, 11, 12)]
    monkeypatch.setattr(by_value, "TRIED", 4)
    monkeypatch.setattr(by_value, "DRAWN", 2_000_000)
    estimated = [task.chance(length).token for length in (9, 11, 12)]
    assert estimated == pytest.approx(exact, abs=0.025)


def test_estimated_chance_of_equations_goes_on_from_the_exact_one(monkeypatch):
    task = SolveEquation()
    exact = [task.chance(length).token for length in (9, 11, 12)]
    monkeypatch.setattr(by_digit, "TRIED", 4)
    monkeypatch.setattr(by_digit, "DRAWN", 4_000_000)
    estimated = [task.chance(length).token for length in (9, 11, 12)]
    assert estimated == pytest.approx(exact, abs=0.025)
