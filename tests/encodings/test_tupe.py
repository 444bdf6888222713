"""TUPE: every pair by the formula, alone and with T5's bias beside it, and its table's end."""

import by_pairs
import pytest
import torch

from posenc.encodings.combined import Combined
from posenc.encodings.t5 import T5
from posenc.encodings.tupe import TUPE
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_every_pair_by_the_formula(causal, relative):
    shape = Shape(12, 3, 2, causal=causal)
    encoding, t5 = TUPE(shape, max_length=41).double(), T5(shape).double()
    places = encoding.places.table.weight
    queries = encoding.to_queries(places).unflatten(-1, (3, 4))
    keys = encoding.to_keys(places).unflatten(-1, (3, 4))

    def logit(head, q, k, i, j):
        untied = (q @ k + queries[i, head] @ keys[j, head]) / (2 * 4) ** 0.5
        if relative:
            untied = untied + t5.table.weight[t5.bucket(torch.tensor(j - i)), head]
        return untied

    by_pairs.check(Combined(shape, parts=[encoding, t5]) if relative else encoding, logit)


def test_the_alias_of_the_relative_one_has_both_parts(built):
    parts = built("encoding=tupe_relative").net.encoding.parts
    assert [type(part) for part in parts] == [TUPE, T5]


@pytest.mark.parametrize("name", ["tupe", "tupe_relative"])
def test_one_for_all_layers(name, built):
    assert len(built(f"encoding={name}", "model.layers=3").net.encodings) == 1


def test_refuses_what_its_table_does_not_hold():
    shape = Shape(12, 3, 2, causal=False)
    with pytest.raises(ConfigError, match=r"encoding\.max_length=0: "):
        TUPE(shape, max_length=0)
    encoding, ids = TUPE(shape, max_length=4), torch.arange(5)[None]
    assert encoding.max_length == 4
    with pytest.raises(ConfigError, match=r"encoding\.max_length=4 has no row for position 4"):
        encoding.prepare(ids, ids)
