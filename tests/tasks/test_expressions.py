"""Bracketed expressions, their values, equations from them: against plain recursive samplers."""

import random
from collections import Counter

import pytest
import torch

import posenc.tasks.solve_equation as by_digit
from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.base import Sample
from posenc.tasks.modular_arithmetic_brackets import ModularArithmeticBrackets
from posenc.tasks.shared.expressions import MINUS, PLUS, every
from posenc.tasks.solve_equation import SolveEquation


def recursive(length, operators, rng):
    """The definition."""
    digit = rng.choice("01234")
    if length < 5:
        return {1: digit, 2: "-" + digit, 3: f"({digit})", 4: f"(-{digit})"}[length]
    left = rng.randint(1, length - 4)
    first = recursive(left, operators, rng)
    operator = rng.choice(operators)
    return f"({first}{operator}{recursive(length - 3 - left, operators, rng)})"


def texts(task, sample: Sample) -> list[str]:
    return ["".join(task.vocabulary.decode(row).split()) for row in sample.prompt.tolist()]


def tokens(task, text):
    return task.vocabulary.encode(" ".join(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-1", 4),
        ("(4)", 4),
        ("(-2)", 3),
        ("(4+3)", 2),
        ("(2--3)", 0),
        ("(2*-3)", 4),
        ("(-2*(3))", 4),
        ("((1-2)*(3-0))", 2),
        ("(2-((1-(-4))-3))", 0),
    ],
)
def test_values_by_hand(text, value):
    task = ModularArithmeticBrackets()
    assert task.solve(tokens(task, text)) == [value]


@pytest.mark.parametrize(
    ("text", "digit"),
    [
        ("x=3", 3),
        ("-x=3", 2),
        ("(x)=0", 0),
        ("(-x)=1", 4),
        ("(x-3)=4", 2),
        ("(3--x)=4", 1),
        ("((1-(x+2))-(4))=0", 0),
    ],
)
def test_equations_by_hand(text, digit):
    task = SolveEquation()
    assert task.solve(tokens(task, text)) == [digit]


BROKEN = ["", "()", "12", "+1", "--1", "((1))", "1+2", "(1+2", "(1+2)3", "(1+2+3)", "-(1+2)"]


@pytest.mark.parametrize("text", [*BROKEN, "((1+2))", "(-(1+2))", "(1+)", "((1+2)-(3*4)"])
def test_what_is_no_expression(text):
    task = ModularArithmeticBrackets()
    with pytest.raises(ValueError, match="not a bracketed expression"):
        task.solve(tokens(task, text))


@pytest.mark.parametrize("text", ["", "x", "x=", "=3", "1=1", "(x+x)=2", "x=1=1", "x=-1", "x=x"])
def test_what_is_no_equation(text):
    task = SolveEquation()
    with pytest.raises(ValueError, match="not an equation for one x"):
        task.solve(tokens(task, text))


@pytest.mark.parametrize("text", [f"{text}x=1" for text in BROKEN if text not in ("", "-", "(-")])
def test_an_equation_of_what_is_no_expression(text):
    task = SolveEquation()
    with pytest.raises(ValueError, match="expression"):
        task.solve(tokens(task, text))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 9, 20, 60])
def test_values_are_what_python_reckons(length):
    for products in (True, False):
        task = ModularArithmeticBrackets(products=products)
        sample = task.sample(200, length, generator(0, "python", length))
        assert [eval(text) % 5 for text in texts(task, sample)] == sample.answer[:, 0].tolist()


@pytest.mark.parametrize("length", [5, 8, 9, 10])
@pytest.mark.parametrize("operators", ["+-*", "+-"])
def test_expressions_are_distributed_as_recursive_ones(length, operators):
    """Shapes, digits and operators apart."""
    rows, rng = 20_000, random.Random(0)
    task = ModularArithmeticBrackets(products="*" in operators)
    ours = texts(task, task.sample(rows, length, generator(0, "shapes", length)))
    theirs = [recursive(length, operators, rng) for _ in range(rows)]
    bare = str.maketrans("01234+*", "ddddd--")
    for parts in (
        lambda text: [text.translate(bare)],
        lambda text: [digit for digit in text if digit.isdigit()],
        lambda text: [operator for operator in text if operator in "+*"],
    ):
        counts = [
            Counter(part for text in source for part in parts(text)) for source in (ours, theirs)
        ]
        assert set(counts[0]) == set(counts[1])
        for part in counts[0]:
            a, b = counts[0][part], counts[1][part]
            assert abs(a - b) < 4.5 * (a + b) ** 0.5


def test_long_expressions_split_uniformly():
    """The tokens of L, of 1 to 56: read off where the first operation is over."""
    task = ModularArithmeticBrackets()
    sizes = Counter()
    for text in texts(task, task.sample(11_200, 60, generator(0, "split"))):
        depth, place = 0, 1
        while True:
            depth += (text[place] == "(") - (text[place] == ")")
            place += 1
            if depth == 0 and (text[place - 1].isdigit() or text[place - 1] == ")"):
                break
        sizes[place - 1] += 1
    assert set(sizes) == set(range(1, 57))
    assert max(abs(count - 200) for count in sizes.values()) < 4.5 * 200**0.5


PUBLISHED = {5: 0.2533, 8: 0.2533, 10: 0.2628, 20: 0.2794, 40: 0.2916, 100: 0.3032, 500: 0.316}


@pytest.mark.parametrize(("length", "frequency"), PUBLISHED.items())
def test_published_frequencies_of_0(length, frequency):
    task = ModularArithmeticBrackets()
    assert task._zero(length) == pytest.approx(frequency, abs=6e-5)
    rows = 40_000 if length < 50 else 4_000
    counts = task.sample(rows, length, generator(0, "zero", length)).answer[:, 0].bincount() / rows
    off = 4 * (0.25 / rows) ** 0.5
    assert counts.tolist() == pytest.approx([frequency, *[(1 - frequency) / 4] * 4], abs=off)


def test_all_expressions_are_as_likely_as_they_are_drawn():
    task = ModularArithmeticBrackets(products=False)
    prompts, values, likely = every(9, (PLUS, MINUS))
    texts_ = texts(task, Sample(prompts, values[:, None]))
    assert len(set(texts_)) == len(texts_)
    assert [eval(text) % 5 for text in texts_] == values.tolist()
    assert likely.sum().item() == pytest.approx(1)
    drawn = Counter(texts(task, task.sample(200_000, 9, generator(0, "all"))))
    assert set(drawn) == set(texts_)
    for text, share in zip(texts_, likely.tolist(), strict=True):
        assert abs(drawn[text] - 200_000 * share) < 5 * (200_000 * share) ** 0.5


def test_hidden_digits_are_those_after_long_runs():
    """Of 7 tokens, ( d + d ) and so on, the place is moved on to the next digit, round the end."""
    task = SolveEquation()
    firsts = 0
    equations = texts(task, task.sample(20_000, 9, generator(0, "hidden")))
    for text in equations:
        left = text.partition("=")[0]
        firsts += not any(digit.isdigit() for digit in left[: left.index("x")])
    assert firsts / 20_000 == pytest.approx(0.57, abs=0.014)


def test_a_place_is_moved_on_to_the_next_digit():
    expression = torch.tensor([tokens(SolveEquation(), "((-3)+2)")]).expand(8, -1)
    sample = by_digit._hidden(expression, torch.full((8,), 4), torch.arange(8)[:, None])
    assert sample.answer[:, 0].tolist() == [3, 3, 3, 3, 2, 2, 2, 3]
    assert texts(SolveEquation(), sample)[4] == "((-3)+x)=4"


def test_solutions_are_uniform_and_unique():
    task = SolveEquation()
    sample = task.sample(20_000, 15, generator(0, "uniform"))
    assert (sample.answer[:, 0].bincount() / 20_000 - 0.2).abs().max() < 0.0115
    assert all(len(task.solve(prompt)) == 1 for prompt in sample.prompt[:500].tolist())


def test_reorder_leaves_brackets_and_signs_of_digits():
    task, text = ModularArithmeticBrackets(), "((-3)-(2*-4))"
    reordered = {
        task.vocabulary.decode(
            task.reorder(torch.tensor(tokens(task, text)), generator(0, "order", i)).tolist()
        ).replace(" ", "")
        for i in range(200)
    }
    digits = [f"((-{a})S({b}T-{c}))" for a, b, c in ["324", "342", "234", "243", "423", "432"]]
    orders = {form.replace("S", s).replace("T", t) for form in digits for s, t in ("-*", "*-")}
    assert reordered == orders


def test_wrong_options_and_short_equations():
    with pytest.raises(ConfigError, match=r"task\.products=maybe: must be true or false"):
        ModularArithmeticBrackets(products="maybe")
    with pytest.raises(ConfigError, match=r"length 2: .*solve_equation.*3"):
        SolveEquation().sample(1, 2, generator(0, "short"))
    assert SolveEquation().lengths(1, 5) == [3, 4, 5]
