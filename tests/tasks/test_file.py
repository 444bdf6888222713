"""Problems of a user's own: what a file may hold, what is held out, and what a run remembers."""

import json
import re

import pytest
import torch

from posenc.errors import ConfigError
from posenc.results.identity import fingerprint
from posenc.seeding import generator
from posenc.tasks.file import EXAMPLE, File


@pytest.fixture
def file(tmp_path):
    """(*lines) -> the path of a file that holds them; what is no text is written as JSON."""

    def written(*lines):
        path = tmp_path / "problems.jsonl"
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return str(path)

    return written


def problem(prompt, answer):
    return {"prompt": prompt, "answer": answer}


def pairs(count, length=3):
    """Numbers in base 10 to be reversed."""
    numbers = [f"{number:0{length}}" for number in range(count)]
    return [problem(list(number), list(number[::-1])) for number in numbers]


def prompts(task, length):
    sample = task.sample(10_000, length, generator(0, "all"))
    return {tuple(row) for row in sample.prompt.tolist()}


def test_lists_strings_and_numbers_are_tokens(file):
    task = File(path=file(problem(["a", 7], "x y z"), "", problem("b a 7", ["x"])))
    assert task.vocabulary.symbols == ("7", "a", "b", "x", "y", "z")
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode("a 7"))) == "x y z"
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode("b a 7"))) == "x"
    with pytest.raises(ValueError, match="asks no such thing: a b"):
        task.solve(task.vocabulary.encode("a b"))


def test_strings_are_cut_into_characters_where_asked(file):
    path = file(problem("abc", "cba"), problem(["ab"], "x"))
    assert File(path=path, split="characters").vocabulary.symbols == ("a", "b", "c", "x", "ab")
    with pytest.raises(ConfigError, match=r"task\.split=letters: choose one of words, characters"):
        File(path=path, split="letters")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"prompt": ["a"], "answer": ', "is no JSON"),
        ("[1, 2]", "must have the keys prompt and answer"),
        (problem("a", "b") | {"id": 7}, "must have the keys prompt and answer"),
        ({"prompt": "a"}, "must have the keys prompt and answer"),
        (problem("", "b"), "prompt=[]: must be a string or a list of tokens, and not empty"),
        (problem("a", 7), "answer=7: must be a string or a list"),
        (problem(["a", None], "b"), "prompt: None must be a whole number, or text without a space"),
        (problem(["a", 0.5], "b"), "prompt: 0.5 must be"),
        (problem(["a", True], "b"), "prompt: True must be"),
        (problem("a", ["b c"]), "answer: 'b c' must be"),
        ('{"prompt": "a", "prompt": "b", "answer": "c"}', "is no JSON (a key stands in it twice)"),
        ("[" * 100_000, "is no JSON ("),
        (problem(["a\0"], "b"), r"prompt: 'a\x00' cannot be printed"),
        (problem("a ?", "b"), "prompt: '?' stands for the place of an answer"),
        (problem("1 2", "4"), "its prompt is that of line 1, its answer another"),
    ],
)
def test_a_bad_line_is_named(file, line, message):
    path = file(problem("1 2", "3"), line)
    with pytest.raises(ConfigError, match=re.escape(f"task.path={path}: line 2: {message}")):
        File(path=path)


def test_a_bad_file_is_named(file, tmp_path):
    with pytest.raises(ConfigError, match="nowhere: No such file"):
        File(path=str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="holds no problem"):
        File(path=file(""))
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="name a text file in UTF-8"):
        File(path=str(tmp_path / "bytes"))
    with pytest.raises(ConfigError, match=r"task\.held_out=1: must be above 0 and below 1"):
        File(held_out=1)


def test_what_is_held_out_is_tested_and_nothing_else_of_trained_lengths(file):
    task = File(path=file(*pairs(500), *pairs(500)[:9], *pairs(50, length=4)), held_out=0.3)
    kept, tested = prompts(task, 3), prompts(task.unseen([3]), 3)
    assert not kept & tested
    assert len(kept | tested) == 500
    assert 0.2 < len(tested) / 500 < 0.4
    assert len(prompts(task.unseen([3]), 4)) == 50
    assert len(prompts(task.unseen([3, 4]), 4)) < 50
    again = File(path=file(*reversed(pairs(500))), held_out=0.3)
    assert {again.vocabulary.decode(row) for row in prompts(again, 3)} == {
        task.vocabulary.decode(row) for row in kept
    }


def test_each_tested_problem_is_asked_once(file):
    tested = File(path=file(*pairs(40))).unseen([])
    sample = tested.sample(2048, 3, generator(0, "once"))
    assert len(sample.prompt) == len(sample.prompt.unique(dim=0)) == 40
    assert len(tested.sample(7, 3, generator(0, "few")).prompt) == 7


def test_answers_of_different_lengths_are_filled_up(file):
    task = File(path=file(problem("a b", "c"), problem("b a", "a b c"))).unseen([])
    sample = task.sample(2, 2, generator(0, "rows"))
    assert sample.answer.shape == (2, 3)
    assert sorted(sample.scored.sum(1).tolist()) == [1, 3]
    assert task.pose(task.vocabulary.encode("a b")).answer.shape == (1, 3)


def test_chance_is_that_of_the_commonest_answer(file):
    lines = [problem([str(n)], "x" if n < 6 else str(n)) for n in range(10)]
    task = File(path=file(*lines, problem("a b", "a"), problem("b a", "b"), problem("a a", "a")))
    assert task.chance(1) == pytest.approx((0.6, 0.6))
    assert task.chance(2) == (pytest.approx((1 + 2 / 3) / 3), pytest.approx((1 + 2 / 3) / 3))


def test_reordering_gives_a_prompt_of_the_file(file):
    task = File(path=file(problem("a b", "a"), problem("b a", "b"), problem("a a", "a")))
    a, b = task.vocabulary.encode("a b")
    assert task.reorder(torch.tensor([a, b]), generator(0, "r")).tolist() == [b, a]
    assert task.reorder(torch.tensor([a, a]), generator(0, "r")).tolist() == [a, a]


def test_a_run_is_that_of_the_content_and_not_of_the_name(file, tmp_path, configured, monkeypatch):
    from dataclasses import asdict

    path = file(*pairs(50))
    monkeypatch.chdir(tmp_path)
    config = configured("task=file", "task.path=problems.jsonl")
    assert config.task["path"] == path
    (tmp_path / "moved.jsonl").write_text((tmp_path / "problems.jsonl").read_text())
    moved = configured("task=file", "task.path=moved.jsonl")
    assert fingerprint(asdict(moved)) == fingerprint(asdict(config))
    with (tmp_path / "moved.jsonl").open("a") as more:
        more.write(json.dumps(problem("9 9 9 9", "9")) + "\n")
    changed = configured("task=file", f"task.path={tmp_path}/moved.jsonl")
    assert fingerprint(asdict(changed)) != fingerprint(asdict(config))
    with pytest.raises(ConfigError, match="the file has changed"):
        File(**{k: v for k, v in moved.task.items() if k not in ("name", "_target_")})


def test_the_example_holds_sentences():
    assert len(EXAMPLE.read_text().splitlines()) > 400
    assert File().lengths(0, 100) == list(range(5, 31))


def test_lines_end_where_json_lines_end(tmp_path):
    path = tmp_path / "lines.jsonl"
    lines = '{"prompt": "a\u2028b", "answer": "c"}\r\n\n{"prompt": "b a", "answer": "d"}'
    path.write_text(f"\ufeff{lines}", encoding="utf-8")
    assert File(path=str(path)).vocabulary.symbols == ("a", "b", "c", "d")


def test_spaces_are_characters(file):
    task = File(path=file(problem("a b", "b a")), split="characters")
    assert task.vocabulary.decode(task.solve(task.vocabulary.encode("a ␣ b"))) == "b ␣ a"


@pytest.mark.parametrize("key", ["path", "digest"])
@pytest.mark.parametrize("value", [5, True, [1]])
def test_names_are_text(file, key, value):
    settings = {"path": file(problem("a", "b"))} | {key: value}
    with pytest.raises(ConfigError, match=re.escape(f"task.{key}={value}: must be text")):
        File(**settings)
