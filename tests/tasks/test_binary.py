"""Binary sums, products and roots: exact at any size, the draws, the ends, the ids, chance."""

import math
from collections import Counter, defaultdict

import pytest
import torch

from posenc.seeding import generator
from posenc.tasks.base import Sample
from posenc.tasks.binary_addition import BinaryAddition
from posenc.tasks.binary_multiplication import BinaryMultiplication
from posenc.tasks.compute_sqrt import ComputeSqrt
from posenc.tasks.shared.binary import bits_of, numbers, positive, roots
from posenc.tasks.shared.tried import met_chance


def solved(task, text):
    return "".join(task.vocabulary.decode(task.solve(encoded(task, text))).split())


def encoded(task, text):
    return task.vocabulary.encode(" ".join(text))


@pytest.mark.parametrize(
    ("prompt", "total"),
    [
        ("0", "0end"),
        ("00", "0end"),
        ("10", "1end"),
        ("01", "01end"),
        ("1+1", "01end"),
        ("110+01", "101end"),
        ("10000+1", "01end"),
        ("1111+1", "00001end"),
        ("111+111", "0111end"),
    ],
)
def test_sums_by_hand(prompt, total):
    task = BinaryAddition()
    assert solved(task, prompt) == total
    assert task.pose(encoded(task, prompt)).answer.shape == (1, len(prompt) + 1)


@pytest.mark.parametrize(
    ("prompt", "product"),
    [
        ("0", "end"),
        ("00", "0end"),
        ("10", "0end"),
        ("01", "0end"),
        ("1*1", "1end"),
        ("110*01", "011end"),
        ("10000*1", "1end"),
        ("111*111", "100011end"),
    ],
)
def test_products_by_hand(prompt, product):
    task = BinaryMultiplication()
    assert solved(task, prompt) == product
    assert task.pose(encoded(task, prompt)).answer.shape == (1, len(prompt))


@pytest.mark.parametrize(
    ("prompt", "root"),
    [
        ("1", "1"),
        ("01", "1"),
        ("11", "1"),
        ("100", "10"),
        ("110", "10"),
        ("0001", "01"),
        ("1111", "11"),
        ("100010", "101"),
        ("100100", "110"),
        ("010101", "100"),
        ("1111111", "1011"),
    ],
)
def test_roots_by_hand(prompt, root):
    assert solved(ComputeSqrt(), prompt) == root


@pytest.mark.parametrize(
    "text", ["", "11", "1", "000", "111", "+", "1+", "+1", "1+0", "0+1", "1+1+1"]
)
def test_what_is_no_sum(text):
    task = BinaryAddition()
    with pytest.raises(ValueError, match=r"not two positive binary numbers, joined by \+"):
        task.solve(encoded(task, text))


def test_what_is_no_product_and_no_square():
    for prompt in ([0, 2], [2], [1, 2, 3], [0, 0, 2, 1], [1, 1]):
        with pytest.raises(ValueError, match=r"not two positive binary numbers, joined by \*"):
            BinaryMultiplication().solve(prompt)
    for zeros in ([], [0], [0, 0, 0]):
        with pytest.raises(ValueError, match="not a positive binary number"):
            ComputeSqrt().solve(zeros)


@pytest.mark.parametrize("width", [1, 31, 32, 33, 63, 64, 65, 200, 500])
def test_numbers_of_any_size_are_exact(width):
    bits = torch.randint(2, (50, width), generator=generator(0, "exact", width))
    bits[0], bits[1] = 0, 1
    values = numbers(bits)
    expected = [sum(bit << weight for weight, bit in enumerate(row)) for row in bits.tolist()]
    assert values.tolist() == expected
    assert torch.equal(bits_of(values, width), bits)
    assert torch.equal(bits_of(values, width + 40)[:, width:], torch.zeros(50, 40).long())
    assert roots(values).tolist() == [math.isqrt(value) for value in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_numbers_are_uniform_and_never_0(size):
    count = 2**size - 1
    sizes = torch.full((3_000 * count,), size)
    found = numbers(positive(sizes, 7, generator(0, "uniform", size))).astype(int)
    counts = torch.from_numpy(found).bincount(minlength=count + 1)
    assert counts[0] == 0
    assert len(counts) == count + 1
    assert (counts[1:] - 3_000).abs().max() < 4 * 3_000**0.5


def test_long_numbers_begin_with_any_bit():
    bits = positive(torch.full((20_000,), 500), 500, generator(0, "long"))
    assert (bits.double().mean(dim=0) - 0.5).abs().max() < 4.5 * (0.25 / 20_000) ** 0.5


@pytest.mark.parametrize("task", [BinaryAddition(), BinaryMultiplication()], ids=["sum", "product"])
def test_sizes_are_uniform(task):
    sample = task.sample(9_000, 11, generator(0, "sizes"))
    counts = (sample.prompt == 2).long().argmax(dim=1).bincount(minlength=11)
    assert counts[[0, 10]].tolist() == [0, 0]
    assert (counts[1:10] - 1_000).abs().max() < 4 * 1_000**0.5
    operands = [
        tuple(task.vocabulary.decode(row).split(f" {task.sign} "))
        for row in sample.prompt.tolist()
        if row[3] == 2
    ]
    first = Counter(operand for operand, _ in operands)
    assert len(first) == 7
    share = len(operands) / 7
    assert max(abs(count - share) for count in first.values()) < 4 * share**0.5


@pytest.mark.parametrize("task", [BinaryAddition(), BinaryMultiplication()], ids=["sum", "product"])
def test_prompts_of_2_tokens_are_0_1_and_2(task):
    sample = task.sample(3_000, 2, generator(0, "two"))
    counts = (sample.prompt * torch.tensor([1, 2])).sum(dim=1).bincount(minlength=4)
    assert counts[3] == 0
    assert (counts[:3] - 1_000).abs().max() < 130


@pytest.mark.parametrize(("length", "share"), [(20, 0.75), (40, 0.75), (21, 0.5), (41, 0.5)])
def test_published_share_of_roots_that_begin_with_1(length, share):
    answer = ComputeSqrt().sample(20_000, length, generator(0, "leading", length)).answer
    first = answer[:, 0].double().mean().item()
    assert first == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize(("length", "published"), [(5, 0.56), (10, 0.60), (20, 0.55)])
def test_published_score_of_constant_bits(length, published):
    answer = ComputeSqrt().sample(50_000, length, generator(0, "constant", length)).answer
    ones = answer.double().mean(dim=0)
    assert torch.maximum(ones, 1 - ones).mean() == pytest.approx(published, abs=0.008)


def test_bits_of_one_weight_share_an_id_and_no_id_tells_where_the_answer_ends():
    task = BinaryAddition()
    sample = task.pose(encoded(task, "110+01"))
    assert sample.places.tolist() == [[1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7]]
    assert sample.coordinates[0, :, 0].tolist() == [2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8]
    short = task.pose(encoded(task, "01"))
    assert short.places.tolist() == [[1, 2, 0, 1, 2, 3]]
    mixed = BinaryMultiplication().sample(50, 9, generator(0, "ids"))
    assert len(mixed.places[:, 10:].unique(dim=0)) == 1
    assert len(mixed.places[:, :9].unique(dim=0)) == 7


@pytest.mark.parametrize(
    ("number", "ids"),
    [("10110", [4, 3, 3, 2, 2, 5, 4, 3, 2]), ("1011", [3, 3, 2, 2, 4, 3, 2])],
)
def test_two_bits_and_one_of_their_root_share_an_id(number, ids):
    task = ComputeSqrt()
    assert task.pose(encoded(task, number)).coordinates[0, :, 0].tolist() == ids


def best_guess(problems):
    """Of (bag, answer, weight)."""
    wholes, slots, tokens = defaultdict(Counter), defaultdict(Counter), 0.0
    for bag, answer, weight in problems:
        wholes[bag][tuple(answer)] += weight
        tokens += weight * len(answer)
        for slot, token in enumerate(answer):
            slots[bag, slot][token] += weight
    exact, token = (sum(max(c.values()) for c in table.values()) for table in (wholes, slots))
    return exact, token / tokens


def binary(number, size):
    return f"{number:0{size}b}"[::-1]


@pytest.mark.parametrize("task", [BinaryAddition(), BinaryMultiplication()], ids=["sum", "product"])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_chance_is_that_of_the_best_guess(task, length):
    if length <= 2:
        prompts = {binary(number, length): 1 / (2**length - 1) for number in range(2**length - 1)}
    else:
        prompts = {
            f"{binary(a, first)}{task.sign}{binary(b, length - 1 - first)}": 1
            / (length - 2)
            / (2**first - 1)
            / (2 ** (length - 1 - first) - 1)
            for first in range(1, length - 1)
            for a in range(1, 2**first)
            for b in range(1, 2 ** (length - 1 - first))
        }
    problems = [
        ("".join(sorted(text)), task.solve(encoded(task, text)), weight)
        for text, weight in prompts.items()
    ]
    assert task.chance(length) == pytest.approx(best_guess(problems))


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8])
def test_chance_of_roots_is_that_of_the_best_guess(length):
    task, count = ComputeSqrt(), 2**length - 1
    texts = [f"{number:0{length}b}" for number in range(1, count + 1)]
    problems = [(text.count("1"), task.solve(encoded(task, text)), 1 / count) for text in texts]
    assert task.chance(length) == pytest.approx(best_guess(problems))


@pytest.mark.parametrize("task", [BinaryAddition(), BinaryMultiplication(), ComputeSqrt()])
def test_estimated_chance(task):
    """Against guesses that have met ten times as many problems."""
    for length in (15, 20, 40):
        met = met_chance(task.sample(100_000, length, generator(0, "met", length)))
        assert task.chance(length) == pytest.approx(met, abs=task.chance_error)


def test_a_guesser_learns_from_every_second_problem_and_is_asked_the_others():
    prompts = torch.tensor([[0, 1], [1, 0], [1, 1], [1, 1]])
    answers = torch.tensor([[0, 1], [0, 0], [1, 1], [1, 1]])
    scored = torch.tensor([[True, True], [True, True], [True, False], [True, False]])
    assert met_chance(Sample(prompts, answers, scored)) == (0.5, 2 / 3)
