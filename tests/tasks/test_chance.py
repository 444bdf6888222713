"""The closed forms of chance against guessers that try out every arrangement or every prompt."""

from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import permutations, product
from math import comb, isclose, sqrt
from statistics import fmean, pstdev

import pytest

from posenc.seeding import generator
from posenc.tasks.back_k import BackK
from posenc.tasks.base import Task
from posenc.tasks.bucket_sort import BucketSort
from posenc.tasks.copy import Copy
from posenc.tasks.copy_twice import CopyTwice
from posenc.tasks.cycle_navigation import CycleNavigation
from posenc.tasks.duplicate_string import DuplicateString
from posenc.tasks.even_pairs import EvenPairs
from posenc.tasks.first_of_two import FirstOfTwo
from posenc.tasks.kth_token import KthToken
from posenc.tasks.missing_duplicate import MissingDuplicate
from posenc.tasks.odds_first import OddsFirst
from posenc.tasks.parity import Parity
from posenc.tasks.repeat_token import RepeatToken
from posenc.tasks.repeat_twice import RepeatTwice
from posenc.tasks.replace_token import ReplaceToken
from posenc.tasks.reverse import Reverse
from posenc.tasks.reverse_then_copy import ReverseThenCopy
from posenc.tasks.reverse_twice import ReverseTwice
from posenc.tasks.shift import Shift
from posenc.tasks.summation import Summation

BOUND = 3  # standard errors
ROWS = 10_000

TASKS = {
    "copy-2": (Copy(symbols=2), [1, 2, 3, 6, 9]),
    "copy-3": (Copy(symbols=3), [1, 2, 5, 7]),
    "copy-7": (Copy(symbols=7), [1, 2, 3, 4]),
    "copy-unique": (Copy(symbols=5, unique=True), [1, 2, 3, 5]),
    "reverse-2": (Reverse(), [1, 2, 5, 8]),
    "reverse-4": (Reverse(symbols=4), [1, 3, 5]),
    "even_pairs": (EvenPairs(), [1, 2, 3, 4, 7, 10]),
    "parity": (Parity(), [1, 2, 3, 10]),
    "bucket_sort-5": (BucketSort(), [1, 2, 3, 5]),
    "bucket_sort-3": (BucketSort(symbols=3), [1, 2, 4, 8]),
    "repeat_token": (RepeatToken(symbols=4), [1, 2, 5]),
    "repeat_twice": (RepeatTwice(symbols=3), [1, 4]),
    "replace_token": (ReplaceToken(symbols=3), [1, 2, 4]),
    "copy_twice": (CopyTwice(symbols=2), [1, 2, 6]),
    "reverse_twice": (ReverseTwice(symbols=3), [1, 2, 4]),
    "reverse_then_copy": (ReverseThenCopy(symbols=3), [1, 2, 4]),
    "duplicate_string": (DuplicateString(), [1, 2, 7]),
    "odds_first": (OddsFirst(), [1, 2, 3, 7]),
    "odds_first-even": (OddsFirst(first="even"), [6]),
    "shift": (Shift(symbols=3), [1, 2, 3, 5]),
    "back_k": (BackK(symbols=3), [3, 4, 6]),
    "kth_token-9": (KthToken(symbols=3, largest=9), [1, 2, 3]),
    "kth_token-10": (KthToken(symbols=2, largest=10), [1, 2]),
    "first_of_two": (FirstOfTwo(fillers=2), [2, 3, 6]),
    "first_of_two-3": (FirstOfTwo(marked=3, fillers=1), [2, 3, 5]),
    "cycle_navigation": (CycleNavigation(), [1, 2, 5]),
    "missing_duplicate": (MissingDuplicate(), [2, 3, 6, 7]),
    "summation": (Summation(), [1, 2, 3]),
}


def legal_prompts(task: Task, length: int) -> list[tuple[int, ...]]:
    """Every prompt of this length; in all these tasks each is as likely as any other."""
    tokens = task.largest(length).prompt.shape[1]
    every = product(range(len(task.vocabulary)), repeat=tokens)
    if isinstance(task, Copy) and task.unique:
        return [prompt for prompt in every if len(set(prompt)) == length]
    return solvable(task, every)


def solvable(task: Task, prompts) -> list[tuple[int, ...]]:
    found = []
    for prompt in prompts:
        with suppress(ValueError):
            task.solve(list(prompt))
            found.append(prompt)
    return found


def best_guess(task: Task, prompts) -> tuple[list[int], list[int]]:
    """The answers most often right, as a whole and token by token, if all prompts are as likely."""
    answers = [tuple(task.solve(list(prompt))) for prompt in prompts]
    whole = Counter(answers).most_common(1)[0][0]
    tokens = [Counter(slot).most_common(1)[0][0] for slot in zip(*answers, strict=True)]
    return list(whole), tokens


def scores(guess: tuple[list[int], list[int]], answer: list[int]) -> tuple[float, float]:
    whole, tokens = guess
    right = [token == true for token, true in zip(tokens, answer, strict=True)]
    return float(whole == answer), fmean(right)


@pytest.mark.parametrize(("task", "lengths"), TASKS.values(), ids=TASKS)
def test_chance_equals_the_best_guess_over_all_prompts(task, lengths):
    for length in lengths:
        bags = {}
        for prompt in legal_prompts(task, length):
            bags.setdefault(tuple(sorted(prompt)) if task.order_matters else (), []).append(prompt)
        results = []
        for prompts in bags.values():
            guess = best_guess(task, prompts)
            results += [scores(guess, task.solve(list(prompt))) for prompt in prompts]
        exact, token = map(fmean, zip(*results, strict=True))
        assert task.chance(length) == pytest.approx((exact, token), rel=1e-11)


def guesser(task: Task, length: int):
    """Prompt -> best guess, from all arrangements of its bag, or from all prompts of its length."""
    if not task.order_matters:
        guess = best_guess(task, legal_prompts(task, length))
        return lambda prompt: guess

    @cache
    def of_bag(bag):
        return best_guess(task, solvable(task, set(permutations(bag))))

    return lambda prompt: of_bag(tuple(sorted(prompt)))


SAMPLED = {
    **{name: (task, lengths[-1]) for name, (task, lengths) in TASKS.items() if name != "copy-2"},
    "copy-100": (Copy(), 3),
    "copy-100-unique": (Copy(unique=True), 3),
    "repeat_token-100": (RepeatToken(), 2),
    "even_pairs": (EvenPairs(), 8),
}


@pytest.mark.parametrize(("task", "length"), SAMPLED.values(), ids=SAMPLED)
def test_chance_agrees_with_a_guesser_on_samples(task, length):
    sample = task.sample(ROWS, length, generator(0, "chance"))
    guess = guesser(task, length)
    results = [
        scores(guess(prompt), answer)
        for prompt, answer in zip(sample.prompt.tolist(), sample.answer.tolist(), strict=True)
    ]
    for measured, chance in zip(zip(*results, strict=True), task.chance(length), strict=True):
        assert abs(fmean(measured) - chance) <= BOUND * pstdev(measured) / sqrt(ROWS) + 1e-9


@pytest.mark.parametrize("length", [40, 500])
def test_token_chance_of_copy_at_published_lengths(length):
    sample = Copy().sample(ROWS, length, generator(0, "large", length))
    largest = [max(Counter(prompt).values()) / length for prompt in sample.prompt.tolist()]
    assert abs(fmean(largest) - Copy().chance(length).token) <= BOUND * pstdev(largest) / 100


@pytest.mark.parametrize("length", [1, 2, 17, 40, 500])
def test_token_chance_of_two_symbols(length):
    largest = sum(comb(length, ones) * max(ones, length - ones) for ones in range(length + 1))
    assert isclose(Reverse().chance(length).token, largest / 2**length / length, rel_tol=1e-11)


@pytest.mark.parametrize(("symbols", "length"), [(100, 1), (100, 2), (100, 40), (30, 60), (3, 90)])
def test_token_chance_by_counting_strings(symbols, length):
    """Strings without a count above `most`, one symbol of the alphabet after the other."""
    largest = 0
    for most in range(length):
        ways = [1] + [0] * length
        for _ in range(symbols):
            ways = [
                sum(comb(size, new) * ways[size - new] for new in range(min(most, size) + 1))
                for size in range(length + 1)
            ]
        largest += symbols**length - ways[length]
    expected = largest / symbols**length / length
    assert isclose(Copy(symbols=symbols).chance(length).token, expected, rel_tol=1e-10)


def test_published_figures():
    even_pairs = [EvenPairs().chance(length).token for length in (1, 2, 3, 4, 5, 10, 20, 40)]
    assert even_pairs == pytest.approx([1, 1, 0.75, 0.625, 0.625, 0.555, 0.525, 0.512], abs=6e-4)
    bucket_sort = [BucketSort().chance(length).token for length in (5, 10, 20, 100)]
    assert bucket_sort == pytest.approx([0.50, 0.60, 0.69, 0.86], abs=6e-3)
    cycle = [CycleNavigation().chance(length).token for length in (1, 5, 10)]
    assert cycle == pytest.approx([1 / 3, 0.218, 0.2], abs=1e-3)


@pytest.mark.parametrize(("task", "lengths"), TASKS.values(), ids=TASKS)
def test_long_prompts_keep_a_chance(task, lengths):
    chance = task.chance(len(task.vocabulary) if getattr(task, "unique", False) else 500)
    assert 0 <= chance.exact <= chance.token
    assert 0 < chance.token < 1
