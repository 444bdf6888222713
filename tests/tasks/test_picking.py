"""What tasks share whose answer repeats symbols of the prompt: ids, and what no prompt may hold."""

import pytest

from posenc.model.layout import slots
from posenc.positions.task import Coupled
from posenc.seeding import generator
from posenc.tasks.back_k import BackK
from posenc.tasks.copy_twice import CopyTwice
from posenc.tasks.duplicate_string import DuplicateString
from posenc.tasks.odds_first import OddsFirst
from posenc.tasks.reverse_then_copy import ReverseThenCopy
from posenc.tasks.reverse_twice import ReverseTwice
from posenc.tasks.shift import Shift

FORWARDS, BACKWARDS = [2, 3, 4, 5, 6], [1, 2, 3, 4, 5]
IDS = {
    "duplicate_string": (DuplicateString(), FORWARDS, 1, FORWARDS * 2),
    "odds_first": (OddsFirst(), FORWARDS, 1, [2, 4, 6, 3, 5]),
    "odds_first-even": (OddsFirst(first="even"), FORWARDS, 1, [3, 5, 2, 4, 6]),
    "shift": (Shift(k=2), FORWARDS, 1, [4, 5, 6, 2, 3]),
    "back_k": (BackK(k=2), FORWARDS, 4, [5]),
    "copy_twice": (CopyTwice(), FORWARDS, 1, [*FORWARDS, 1, *FORWARDS]),
    "reverse_twice": (ReverseTwice(), BACKWARDS, 6, [*BACKWARDS[::-1], 6, *BACKWARDS[::-1]]),
    "reverse_then_copy": (ReverseThenCopy(), FORWARDS, 1, [*FORWARDS[::-1], 1, *FORWARDS]),
}


@pytest.mark.parametrize(("task", "prompt", "ask", "answer"), IDS.values(), ids=IDS)
def test_a_symbol_shares_its_id_with_its_copies(task, prompt, ask, answer):
    sample = task.sample(2, 5, generator(0, "ids"))
    decoder, encoder = (
        Coupled().evaluate(slots(sample, causal=causal), generator(0, "ids")).tolist()
        for causal in (True, False)
    )
    assert decoder == [[*prompt, ask, *answer[:-1]]]
    assert encoder == [[*prompt, *answer]]


@pytest.mark.parametrize("task", [CopyTwice, ReverseTwice, ReverseThenCopy])
def test_next_is_a_symbol_of_its_own(task):
    short = task(symbols=3)
    assert short.vocabulary.symbols == ("0", "1", "2", "[NEXT]")
    assert short.sample(200, 6, generator(0, "next")).prompt.max() == 2
    with pytest.raises(ValueError, match=r"\[NEXT\]"):
        short.solve([0, 3, 1])
