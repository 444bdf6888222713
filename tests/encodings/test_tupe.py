"""TUPE: every pair by the formula, with and without the relative part, and its table's end."""

import by_pairs
import pytest
import torch

from posenc.encodings.tupe import TUPE
from posenc.errors import ConfigError
from posenc.shapes import Shape


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("relative", [False, True])
def test_every_pair_by_the_formula(causal, relative):
    encoding = TUPE(Shape(12, 3, 2, causal=causal), max_length=41, relative=relative).double()
    places = encoding.places.table.weight
    queries = encoding.to_queries(places).unflatten(-1, (3, 4))
    keys = encoding.to_keys(places).unflatten(-1, (3, 4))

    def logit(head, q, k, i, j):
        untied = (q @ k + queries[i, head] @ keys[j, head]) / (2 * 4) ** 0.5
        if relative:
            row = encoding.relative.bucket(torch.tensor(j - i))
            untied = untied + encoding.relative.table.weight[row, head]
        return untied

    by_pairs.check(encoding, logit)


def test_relative_starts_from_the_same_table():
    shape = Shape(12, 3, 2, causal=False)
    torch.manual_seed(0)
    plain = TUPE(shape).state_dict()
    torch.manual_seed(0)
    relative = TUPE(shape, relative=True).state_dict()
    assert relative.keys() - plain.keys() == {"relative.table.weight"}
    assert all(torch.equal(relative[key], value) for key, value in plain.items())


def test_one_for_all_layers(built):
    assert len(built("encoding=tupe", "model.layers=3").net.encodings) == 1


def test_refuses_what_its_table_does_not_hold():
    shape = Shape(12, 3, 2, causal=False)
    with pytest.raises(ConfigError, match=r"encoding\.max_length=0: "):
        TUPE(shape, max_length=0)
    encoding, ids = TUPE(shape, max_length=4), torch.arange(5)[None]
    assert encoding.max_length == 4
    with pytest.raises(ConfigError, match=r"encoding\.max_length=4 has no row for position 4"):
        encoding.prepare(ids, ids)
