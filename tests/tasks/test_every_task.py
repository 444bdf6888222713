"""What holds for every task of the catalogue, with its default settings and with others."""

import inspect
import pkgutil
import re
from collections import Counter, defaultdict
from importlib import import_module
from statistics import fmean, pstdev

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from task_variants import FILES, MADE, VARIANTS, config, made, task_class

import posenc.tasks
from posenc.seeding import generator
from posenc.tasks.base import Sample, Task

SHORT, LONG, LONGEST = 1, 70, 500
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def tried(task: Task) -> list[int]:
    """The shortest legal lengths, some of the longer ones, and a very long one."""
    legal = task.lengths(SHORT, LONG)
    return sorted({*legal[:4], *legal[4::16], legal[-1], *task.lengths(LONGEST - 9, LONGEST)[-1:]})


def scored_of(sample: Sample) -> torch.Tensor:
    if sample.scored is None:
        return torch.ones_like(sample.answer, dtype=torch.bool)
    return sample.scored


def scored_answers(sample: Sample) -> list[list[int]]:
    return [
        answer[scored].tolist()
        for answer, scored in zip(sample.answer, scored_of(sample), strict=True)
    ]


def tokens_of(sample: Sample) -> int:
    return sample.prompt.shape[1] + (0 if sample.in_place else sample.answer.shape[1])


@by_file
def test_the_yaml_names_a_task_as_its_file(path):
    assert config(path)["name"] == path.stem
    assert issubclass(task_class(config(path)), Task)


def test_variants_are_those_of_tasks():
    assert set(VARIANTS) <= {path.stem for path in FILES}


def test_every_task_has_a_yaml():
    catalogue = {config(path)["_target_"] for path in FILES}
    for module in pkgutil.iter_modules(posenc.tasks.__path__, "posenc.tasks."):
        for name, item in vars(import_module(module.name)).items():
            defined_here = inspect.isclass(item) and item.__module__ == module.name
            if defined_here and issubclass(item, Task) and not inspect.isabstract(item):
                assert f"{module.name}.{name}" in catalogue


@by_file
def test_yaml_shows_every_default(path):
    parameters = inspect.signature(task_class(config(path))).parameters.values()
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    known = {"name": path.stem, "_target_": config(path)["_target_"]}
    defaults = {parameter.name: parameter.default for parameter in parameters}
    assert config(path) == {**known, **defaults}


@by_file
def test_example_in_the_docstring(path):
    task = made(path)
    (prompt,) = re.findall(r"^ +prompt +(.+)$", task.__doc__, re.MULTILINE)
    (answer,) = re.findall(r"^ +answer +(.+)$", task.__doc__, re.MULTILINE)
    solved = task.solve(task.vocabulary.encode(prompt))
    assert task.vocabulary.decode(solved) == answer


@by_file
def test_the_docstring_says_what_counts(path):
    text = " ".join(made(path).__doc__.split())
    assert re.search(r"[Ll]ength counts|[Ll]ength is", text)
    assert re.search(r"[Oo]rder (matters|does not matter|of the prompt does not matter)", text)


def test_symbols_have_names_of_their_own(task):
    symbols = task.vocabulary.symbols
    assert len(set(symbols)) == len(symbols)
    assert task.vocabulary.encode(" ".join(symbols)) == list(range(len(symbols)))


def test_every_symbol_occurs(task):
    met = set()
    for length in tried(task):
        rows = 4 + 400_000 // (length * (1 + length // 100) ** 2)
        sample = task.sample(min(rows, 20_000), length, generator(0, "symbols", length))
        met |= set(sample.prompt.unique().tolist())
        met |= set(sample.answer[scored_of(sample)].unique().tolist())
    assert met == set(range(len(task.vocabulary)))


def test_sampled_answers_are_solutions(task):
    for length in tried(task):
        rows = 20 if length > LONG else 200
        sample = task.sample(rows, length, generator(0, "solve", length))
        solutions = [task.solve(prompt) for prompt in sample.prompt.tolist()]
        assert scored_answers(sample) == solutions


@pytest.mark.parametrize(("path", "changes"), MADE.values(), ids=MADE)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_posed_prompt_is_the_problem_that_was_sampled(path, changes, data):
    task = made(path, **changes)
    length = data.draw(st.sampled_from(task.lengths(SHORT, LONG)))
    sample = task.sample(3, length, generator(data.draw(st.integers(0, 2**32)), "pose"))
    for row in range(3):
        part = sample.rows(slice(row, row + 1))
        posed = task.pose(part.prompt[0].tolist())
        assert scored_answers(part) == [task.solve(part.prompt[0].tolist())]
        assert torch.equal(posed.prompt, part.prompt)
        assert torch.equal(posed.answer, part.answer)
        assert torch.equal(posed.scored, scored_of(part))
        assert posed.in_place == part.in_place
        for given_marks, again in zip(posed[3:5], part[3:5], strict=True):
            assert (given_marks is None) == (again is None)
            assert given_marks is None or torch.equal(given_marks, again)


def test_shapes_and_tokens(task):
    for length in tried(task):
        shapes = set()
        largest = task.largest(length)
        for rows in (1, 7):
            sample = task.sample(rows, length, generator(0, "shapes", length))
            shapes.add((sample.prompt.shape[1:], sample.answer.shape[1:]))
            for tokens in (sample.prompt, sample.answer):
                assert tokens.dtype == torch.int64
                assert len(tokens) == rows
                assert tokens.min() >= 0
                assert tokens.max() < len(task.vocabulary)
            assert scored_of(sample).shape == sample.answer.shape
            assert scored_of(sample).any(dim=1).all()
            assert not sample.answer[~scored_of(sample)].any()
            assert not sample.in_place or sample.prompt.shape == sample.answer.shape
            assert tokens_of(sample) <= tokens_of(largest)
        assert task.varied or len(shapes) == 1


def test_marks_follow_from_prompt_and_answer(task):
    for length in tried(task):
        sample = task.sample(3, length, generator(0, "marks", length))
        bare = sample._replace(places=None, coordinates=None)
        for given_marks, again in zip(sample[3:5], task.marked(bare)[3:5], strict=True):
            assert (given_marks is None) == (again is None)
            if given_marks is not None:
                assert given_marks.shape[0] in (1, 3)
                assert given_marks.shape[1] == tokens_of(sample) + (not sample.in_place)
                assert given_marks.dtype == torch.int64
                assert given_marks.min() >= 0
                assert torch.equal(given_marks, again)
        assert sample.places is None or sample.places.dim() == 2
        assert sample.coordinates is None or sample.coordinates.dim() == 3


def test_a_generator_decides_the_sample(task):
    length = task.lengths(SHORT, LONG)[-1]
    first, again, other = (task.sample(50, length, generator(seed, "draw")) for seed in (0, 0, 1))
    assert torch.equal(first.prompt, again.prompt)
    assert torch.equal(first.answer, again.answer)
    assert not torch.equal(first.prompt, other.prompt)


def test_a_sample_leaves_global_randomness_alone(task):
    before = torch.get_rng_state()
    task.sample(5, task.lengths(SHORT, LONG)[-1], generator(0, "global"))
    assert torch.equal(torch.get_rng_state(), before)


def test_rows_differ(task):
    sample = task.sample(50, task.lengths(SHORT, LONG)[-1], generator(0, "rows"))
    assert len(sample.prompt.unique(dim=0)) > 10


def test_legal_lengths(task):
    legal = task.lengths(0, LONG)
    assert legal == sorted(set(legal))
    assert legal[0] >= task.minimum >= 1
    assert task.lengths(0, task.minimum - 1) == []
    assert task.lengths(legal[0], legal[2]) == legal[:3]
    assert task.lengths(legal[1], legal[0]) == []


def test_reorder_keeps_the_tokens(task):
    changed = total = 0
    for length in tried(task):
        sample = task.sample(10, length, generator(0, "reorder", length))
        for row, (prompt, answer) in enumerate(
            zip(sample.prompt, scored_answers(sample), strict=True)
        ):
            given = prompt.clone()
            reordered = task.reorder(prompt, generator(0, "order", length, row))
            assert torch.equal(prompt, given)
            assert reordered.sort().values.equal(prompt.sort().values)
            changed += task.solve(reordered.tolist()) != answer
            total += 1
    assert changed >= 0.2 * total if task.order_matters else changed == 0


def test_reorder_is_decided_by_its_generator(task):
    prompt = task.sample(1, task.lengths(SHORT, LONG)[-1], generator(0, "prompt")).prompt[0]
    first, again = (task.reorder(prompt, generator(0, "order")) for _ in range(2))
    assert torch.equal(first, again)


def test_chance_is_a_probability(task):
    for length in tried(task):
        chance = task.chance(length)
        assert 0 <= chance.exact <= chance.token + task.chance_error + 1e-9
        assert chance.token <= 1


class Learned:
    """Answers what was most common among samples of the same bag; of any bag in a control."""

    def __init__(self, task: Task, sample: Sample) -> None:
        self.blind = not task.order_matters
        answers = defaultdict(Counter)
        tokens = defaultdict(Counter)
        for bag, answer in self._rows(sample):
            answers[bag][tuple(answer)] += 1
            for slot, token in enumerate(answer):
                tokens[bag, slot][token] += 1
        self.answers = {bag: counter.most_common(1)[0][0] for bag, counter in answers.items()}
        self.tokens = {place: counter.most_common(1)[0][0] for place, counter in tokens.items()}

    def _rows(self, sample):
        for prompt, answer in zip(sample.prompt.tolist(), scored_answers(sample), strict=True):
            yield () if self.blind else tuple(sorted(prompt)), answer

    def exact(self, sample: Sample) -> list[float]:
        return [float(self.answers.get(bag) == tuple(answer)) for bag, answer in self._rows(sample)]

    def token(self, sample: Sample) -> list[float]:
        """Right tokens of each row over the mean number of tokens, so that the mean is by token."""
        mean_size = fmean(map(len, scored_answers(sample)))
        return [
            sum(self.tokens.get((bag, slot)) == token for slot, token in enumerate(answer))
            / mean_size
            for bag, answer in self._rows(sample)
        ]


@pytest.mark.parametrize("measure", ["exact", "token"])
def test_chance_lies_between_what_was_learned_and_what_was_fitted(task, measure):
    """A guess learned from samples cannot beat chance on fresh ones, nor fall below on its own."""
    for length in (*task.lengths(SHORT, LONG)[:3], task.lengths(SHORT, LONG)[14]):
        seen, fresh = (task.sample(10_000, length, generator(seed, "bags")) for seed in (1, 2))
        guess = Learned(task, seen)
        fitted, learned = (getattr(guess, measure)(sample) for sample in (seen, fresh))
        chance = getattr(task.chance(length), measure)
        off = task.chance_error + 1e-9
        assert fmean(learned) - 3 * pstdev(learned) / 100 <= chance + off, length
        assert fmean(fitted) + 3 * pstdev(fitted) / 100 >= chance - off, length
