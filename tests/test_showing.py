"""What scripts/show.py says of a trained network, and what it refuses."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from command_line import TINY, Ended, only_run, run

import posenc.showing
from posenc.choosing import PROJECT
from posenc.experiment import Experiment
from posenc.showing import Reply

SENTENCE = "the man bit the old dog"


def trained(outputs: Path, *choices: str) -> Path:
    assert run(*TINY, f"outputs={outputs}", *choices).code == 0
    return only_run(outputs)


@pytest.fixture(scope="module")
def biting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("outputs"))


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("outputs")
    return trained(outputs, "task=copy", "model=decoder", "model.layers=5", "encoding=none")


def show(folder: Path, prompt: str, *others: str) -> Ended:
    return run(f"run={folder}", f"prompt={prompt}", *others, script="scripts/show.py")


def test_both_orders_are_shown_with_their_answers_and_attention(biting: Path) -> None:
    out = show(biting, SENTENCE).out
    assert f"\n{SENTENCE}\n" in out
    assert "\nthe dog bit the old man\n" in out
    tables = out.split("attention from ?")[1:]
    assert len(tables) == 2
    for table in tables:
        rows = re.findall(r"^ (\S+) +(\d\.\d\d)[ █]+(\d\.\d\d)", table, re.MULTILINE)
        assert [row[0] for row in rows][-1] == "?"
        for layer in (1, 2):
            assert sum(float(row[layer]) for row in rows) == pytest.approx(1, abs=0.05)


def test_layers_that_do_not_fit_aside_follow_below_and_cut_no_number(copying: Path) -> None:
    out = show(copying, "1 2 3").out
    heads = [re.findall(r"in layer (\d)", line) for line in out.splitlines() if "in layer" in line]
    assert heads == [["1", "2"], ["3", "4"], ["5"]] * 2
    assert "…" not in out


def test_how_sure_it_is_counts_every_token_of_the_answer(copying: Path) -> None:
    out = show(copying, "1 2 3").out
    first = float(re.findall(r"the first token:\n +\S+ +([\d.]+)", out)[0])
    sure = int(re.findall(r"(\d+)% sure", out)[0]) / 100
    assert sure < first**2


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.5, "differ by up to 0.5."),
        (3e-4, "differ by up to 0.0003."),
        (0, "the same distribution"),
    ],
)
def test_small_differences_are_told_exactly(
    gap: float, words: str, biting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, steps = posenc.showing.reply, iter((0, gap))
    monkeypatch.setattr(
        posenc.showing,
        "reply",
        lambda *given: replace(
            reply(*given), probabilities=torch.tensor([[next(steps), *[0.2] * 9]])
        ),
    )
    assert words in show(biting, SENTENCE).out


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("", "prompt= is missing"),
        ("the cow", "cow"),
        ("the the", "no answer"),
        ("the man bit " * 200, "answer"),
    ],
)
def test_prompt_without_an_answer_is_refused(prompt: str, part: str, biting: Path) -> None:
    ended = show(biting, prompt)
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(f"error: .*{part}.*\n", ended.err)


def test_without_a_prompt_one_is_shown(copying: Path) -> None:
    ended = run(f"run={copying}", script="scripts/show.py")
    assert (ended.code, ended.out) == (2, "")
    [example] = re.findall(r"^error: prompt= is missing: .* prompt='([0-9 ]+)'\n$", ended.err)
    assert show(copying, example).code == 0


@pytest.mark.parametrize("solved", [True, False])
def test_one_answer_to_both_orders_is_luck_where_it_is_right(
    solved: bool, biting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, asked = posenc.showing.reply, []

    def same_for_all(experiment: Experiment, prompt: list[int]) -> Reply:
        given = reply(experiment, prompt)
        asked.append(given.right[0])
        best = asked[0] if solved else experiment.task.vocabulary.encode("bit")[0]
        probabilities = torch.full_like(given.probabilities, 0.01)
        probabilities[0, best] = 0.5
        return replace(given, probabilities=probabilities)

    monkeypatch.setattr(posenc.showing, "reply", same_for_all)
    out = show(biting, SENTENCE).out
    assert out.count("% sure: the same answer to both, so right for one by luck\n") == 2 * solved
    assert out.count("% sure: wrong\n") == 2 * (not solved)
    assert "sure: right" not in out


def test_a_poor_encoding_and_a_reader_that_leaves_are_no_error(biting: Path) -> None:
    script = str(PROJECT / "scripts" / "show.py")
    command = [sys.executable, script, f"run={biting}", f"prompt={SENTENCE}"]
    poor = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, env=poor, capture_output=True, text=True)
    assert shown.returncode == 0
    assert "0.1" in shown.stdout
    reader, writer = os.pipe()
    os.close(reader)
    left = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (left.returncode, left.stderr) == (1, "")


def test_tokens_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    lines = [
        f'{{"prompt": "the [mask] bit {n} [/red] :smile:", "answer": "[b] x"}}' for n in range(30)
    ]
    file.write_text("\n".join(lines))
    folder = trained(tmp_path / "outputs", "task=file", f"task.path={file}")
    out = show(folder, "the [mask] bit 3 [/red] :smile:").out
    assert "\nthe [mask] bit 3 [/red] :smile:\n" in out
    assert len(re.findall(r"^ \[mask\] +\d\.\d\d", out, re.MULTILINE)) == 2
    moved = file.rename(tmp_path / "moved.jsonl")
    refused = show(folder, "the [mask] bit 3 [/red] :smile:")
    assert refused.code == 2
    assert "No such file" in refused.err
    found = show(folder, "the [mask] bit 3 [/red] :smile:", f"task.path={moved}")
    assert found.out == out


def test_answers_in_place_and_padded_ones_are_asked_where_they_stand(tmp_path: Path) -> None:
    folder = trained(tmp_path, "task=flip_flop", "model=decoder")
    out = show(folder, "w 1 i 0 r 1 w 0 r").out
    assert re.search(r"answers [w01ri] [w01ri], \d+% sure", out)
    assert " ? " not in out.partition("attention")[2].replace("from ?", "")
    other = trained(tmp_path / "other", "task=stack_manipulation", "length.test=24")
    assert "\n0 1 pop\n" in show(other, "0 1 pop").out


@pytest.mark.parametrize(
    ("task", "prompts"),
    [
        ("flip_flop", ["w 0 i 0 i 1 r 0 i 0", "r", "w r"]),
        ("polynomial", ["-3", "+", ": : : -2"]),
        ("binary_addition", ["1 + 1 + 1"]),
        ("addition", ["7 0 + 3"]),
    ],
)
def test_a_prompt_that_is_no_problem_is_refused_with_one_that_is(
    task: str, prompts: list[str], tmp_path: Path
) -> None:
    folder = trained(tmp_path, f"task={task}", "model=decoder", "length.min=2", "length.train=8")
    for prompt in prompts:
        ended = show(folder, prompt)
        assert ended.code == 2
        assert re.fullmatch(r"error: prompt: it has no answer; one that has is '.+'\n", ended.err)
