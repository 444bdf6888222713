import re
from collections import Counter
from itertools import permutations

import pytest
import torch

from posenc.errors import ConfigError
from posenc.seeding import generator
from posenc.tasks.who_bit_whom import ADJECTIVES, ADVERBS, NOUNS, WhoBitWhom

SENTENCE = re.compile(
    r"the((?: {adjective})*) ({noun})((?: {adverb})*) bit the((?: {adjective})*) ({noun})".format(
        adjective=f"(?:{'|'.join(ADJECTIVES)})",
        noun="|".join(NOUNS),
        adverb=f"(?:{'|'.join(ADVERBS)})",
    )
)


@pytest.fixture
def task():
    return WhoBitWhom()


def parsed(task, rows, length):
    """(match, answer) of sampled sentences, each of which has the form."""
    sample = task.sample(rows, length, generator(0, "sentences", length))
    for prompt, answer in zip(sample.prompt.tolist(), sample.answer.tolist(), strict=True):
        yield SENTENCE.fullmatch(task.vocabulary.decode(prompt)), task.vocabulary.decode(answer)


@pytest.mark.parametrize("length", [5, 6, 7, 20, 100])
def test_sentences_have_the_form(task, length):
    for sentence, answer in parsed(task, 300, length):
        assert sentence is not None
        assert len(sentence[0].split()) == length
        assert sentence[0].split().count("the") == 2
        assert sentence[2] != sentence[5]
        assert answer == sentence[2]


@pytest.mark.parametrize(
    ("sentence", "biter"),
    [
        ("the dog bit the man", "dog"),
        ("the man bit the dog", "man"),
        ("the old man suddenly bit the big lazy dog", "man"),
        ("the man bit the old old old dog", "man"),
        ("the fox often twice bit the cat", "fox"),
    ],
)
def test_solved_by_hand(task, sentence, biter):
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode(sentence))) == biter


def test_reorder_swaps_the_nouns_and_nothing_else(task):
    prompt = torch.tensor(task.vocabulary.encode("the old dog suddenly bit the big man"))
    swapped = task.reorder(prompt, generator(0, "swap"))
    assert task.vocabulary.decode(swapped.tolist()) == "the old man suddenly bit the big dog"


def test_every_reordering_changes_the_answer(task):
    sample = task.sample(200, 12, generator(0, "swap"))
    for prompt, answer in zip(sample.prompt, sample.answer.tolist(), strict=True):
        assert task.solve(task.reorder(prompt, generator(0, "swap")).tolist()) != answer


def test_splits_are_uniform_and_tell_nothing(task):
    rows = 12_000
    splits, first_in_alphabet = Counter(), Counter()
    for sentence, answer in parsed(task, rows, 8):
        split = tuple(len(sentence[place].split()) for place in (1, 3, 4))
        splits[split] += 1
        first_in_alphabet[split] += answer == min(sentence[2], sentence[5])
    assert len(splits) == 10
    for split, count in splits.items():
        assert abs(count - rows / 10) < 4 * (rows * 0.1 * 0.9) ** 0.5
        assert abs(first_in_alphabet[split] - count / 2) < 4 * (count / 4) ** 0.5


def test_words_are_uniform(task):
    sample = task.sample(8_000, 20, generator(0, "words"))
    count = Counter(sample.prompt.flatten().tolist())
    words = [
        [count[task.vocabulary.encode(word)[0]] for word in kind] for kind in (ADJECTIVES, ADVERBS)
    ]
    for counts in words:
        assert max(counts) - min(counts) < 0.06 * max(counts)
    pairs = Counter((sentence[2], sentence[5]) for sentence, _ in parsed(task, 11_200, 5))
    assert set(pairs) == set(permutations(NOUNS, 2))
    assert max(pairs.values()) < 200 + 5 * 200**0.5


@pytest.mark.parametrize("length", [5, 6])
def test_chance_agrees_with_a_guesser_that_tries_all_word_orders(task, length):
    guesses = {}
    right = []
    for sentence, answer in parsed(task, 10_000, length):
        bag = tuple(sorted(sentence[0].split()))
        if bag not in guesses:
            orders = {" ".join(order) for order in permutations(bag)}
            biters = Counter(match[2] for match in map(SENTENCE.fullmatch, orders) if match)
            guesses[bag] = max(sorted(biters), key=biters.__getitem__)
        right.append(guesses[bag] == answer)
    assert abs(sum(right) / len(right) - task.chance(length).exact) <= 3 * 0.005


@pytest.mark.parametrize("length", [0, 1, 4])
def test_short_sentences_are_refused(task, length):
    with pytest.raises(ConfigError, match=f"{length}.*at least 5"):
        task.sample(2, length, generator(0, "short"))
    assert task.lengths(1, 7) == [5, 6, 7]
