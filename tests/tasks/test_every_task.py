"""What holds for every task of the catalogue, with its default settings and with others."""

import inspect
import pkgutil
import re
from importlib import import_module

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
        rows = 4 + 200_000 // tokens_of(task.largest(length))
        sample = task.sample(min(rows, 4_000), length, generator(0, "symbols", length))
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


def numbered(rows: torch.Tensor) -> torch.Tensor:
    """(n,L) -> (n,) numbers from 0 on, the same for the same rows."""
    weights = torch.randint(2**62, rows.shape[1:], generator=generator(0, "weights"))
    return ((rows + 2) * weights).sum(dim=1).unique(return_inverse=True)[1]


def commonest(cases: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(n,), (n,) from 0 on -> for every case the value that it has most often, -1 where none."""
    size = int(values.max()) + 1
    pairs, counts = (cases * size + values).unique(return_counts=True)
    ranked = (pairs // size * (len(cases) + 1) + counts).argsort()
    case, value = pairs[ranked] // size, pairs[ranked] % size
    last = torch.cat([case[1:] != case[:-1], torch.tensor([True])])
    return torch.full((int(cases.max()) + 1,), -1).scatter(0, case[last], value[last])


def guessed(task: Task, seen: Sample, fresh: Sample) -> dict[str, list[torch.Tensor]]:
    """Measure -> what a guesser scores on problems it has seen, and on fresh ones, row by row.

    It answers what was most common among seen problems of the same bag; of any bag in a control.
    Right tokens of a row are divided by the mean number of tokens, so that their mean is by token.
    """
    count = len(seen.prompt)
    both = torch.cat([seen.prompt, fresh.prompt])
    bags = numbered(both.sort(dim=1).values if task.order_matters else torch.zeros_like(both))
    scored = torch.cat([scored_of(seen), scored_of(fresh)])
    order = (~scored).long().argsort(dim=1, stable=True)
    scored = scored.gather(1, order)
    answers = torch.cat([seen.answer, fresh.answer]).gather(1, order).where(scored, -1)
    whole = numbered(answers)
    right = whole == padded(commonest(bags[:count], whole[:count]), bags)
    slots = bags[:, None] * answers.shape[1] + torch.arange(answers.shape[1])
    known = commonest(slots[:count][scored[:count]], answers[:count][scored[:count]])
    hits = ((answers == padded(known, slots)) & scored).sum(dim=1) / scored.sum(
        dim=1
    ).double().mean()
    return {"exact": list(right.double().split(count)), "token": list(hits.split(count))}


def padded(values: torch.Tensor, cases: torch.Tensor) -> torch.Tensor:
    """The value of each case, -1 for cases beyond the known ones."""
    more = torch.full((max(0, int(cases.max()) + 1 - len(values)),), -1)
    return torch.cat([values, more])[cases]


def test_chance_lies_between_what_was_learned_and_what_was_fitted(task):
    """A guess learned from samples cannot beat chance on fresh ones, nor fall below on its own."""
    legal = task.lengths(SHORT, LONG)
    for length in (*legal[:3], legal[14]):
        rows = min(10_000, max(500, 1_000_000 // tokens_of(task.largest(length))))
        seen, fresh = (task.sample(rows, length, generator(seed, "bags")) for seed in (1, 2))
        if seen.answer.shape != fresh.answer.shape or seen.prompt.shape != fresh.prompt.shape:
            continue  # problems of several shapes: those of one are met at other lengths
        chance = task.chance(length)
        for measure, (fitted, learned) in guessed(task, seen, fresh).items():
            expected, off = getattr(chance, measure), task.chance_error + 1e-9
            low, high = (3 * scores.std().item() / rows**0.5 for scores in (learned, fitted))
            assert learned.mean().item() - low <= expected + off, (measure, length)
            assert fitted.mean().item() + high >= expected - off, (measure, length)
