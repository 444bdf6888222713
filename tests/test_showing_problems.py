"""What scripts/show.py prints of a task that nobody has trained on."""

import re

import pytest
from command_line import Ended, run

from posenc.catalogue import classes, page
from posenc.portrait import model_for


def show(*arguments: str) -> Ended:
    return run(*arguments, script="scripts/show.py")


def lines(text: str) -> dict[str, list[list[str]]]:
    """Name of a line -> its words, block by block."""
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        if match := re.match(r"(token|position|place of digit|coordinate 0|answer|scored)  ", line):
            found.setdefault(match[1], []).append(line[len(match[0]) :].split())
    return found


@pytest.mark.parametrize("task", classes("task"))
def test_every_task_is_shown(task: str) -> None:
    ended = show(f"task={task}", f"model={model_for(task, 'task')}")
    assert (ended.code, ended.err) == (0, "")
    assert page("task", task).own.splitlines()[0] in ended.out
    found = lines(ended.out)
    assert len(found["token"]) == len(found["position"]) >= 3
    assert ended.out.splitlines()[-1].startswith("chance at length")
    assert max(map(len, ended.out.partition("\ntoken  ")[2].splitlines()[:-1])) <= 80


def test_tokens_ids_and_answers_stand_below_each_other() -> None:
    ended = show("task=addition", "task.base=2", "positions=abacus", "positions.max_offset=0",
                 "model=decoder", "length=3", "seed=2")  # fmt: skip
    (token, *_), (position, *_), (places, *_), (_, *_), (answer, *_) = map(
        lines(ended.out).__getitem__, ("token", "position", "place of digit", "coordinate 0",
                                       "answer"))  # fmt: skip
    assert token[3] == "+"
    assert token[7] == "?"
    assert token[8:] == answer[:-1]  # a decoder is fed what it should have said
    assert position == ["1", "2", "3", "0", "1", "2", "3", "0", "1", "2", "3"]
    assert places == ["1", "2", "3", "1", "2", "3", "1", "2", "3"]
    first, second = (int("".join(reversed(token[i : i + 3])), 2) for i in (0, 4))
    assert int("".join(reversed(answer)), 2) == first + second
    shown = ended.out.splitlines()
    above, below = (next(x for x in shown if x.startswith(n)) for n in ("token", "answer"))
    assert above.index("?") == len(below.rstrip()) - 3 * 3 - 1


def test_what_is_not_scored_is_told() -> None:
    found = lines(show("task=stack_manipulation", "length=4", "model=encoder").out)
    assert {"yes", "no"} == {word for block in found["scored"] for word in block}
    assert all(len(block) == 5 for block in found["scored"])


def test_answers_in_place_stand_below_the_token_that_is_asked() -> None:
    out = show("task=flip_flop", "model=decoder", "length=8").out
    block = out.partition("\ntoken ")[2].partition("\n\n")[0].splitlines()
    tokens, answers = f"token {block[0]}", block[-1]
    asked = [place for place, symbol in enumerate(tokens) if symbol == "r"]
    assert [place for place, symbol in enumerate(answers) if symbol in "01"] == asked


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("task=copy", "length=x"), "length=x: must be a length of copy, such as [5, 6, 7, 8]"),
        (("task=modular_arithmetic", "length=4"), "must be a length of modular_arithmetic"),
        (("task=cpoy",), "task=cpoy"),
        (("task=flip_flop",), "set model=decoder"),
        (("task=copy", "positions=abacus"), "positions=abacus: the task has no numbers"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], part: str) -> None:
    ended = show(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("\n") == 1
    assert part in ended.err
