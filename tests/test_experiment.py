"""From a configuration to objects: what is compared differs in one thing, and misfits are named."""

from dataclasses import replace

import pytest
import torch

from posenc.building import build
from posenc.checkpoint import load_weights, read_checkpoint
from posenc.encodings.base import Encoding
from posenc.errors import ConfigError


class Toy(Encoding):
    """An encoding that every layer has for itself."""

    per_layer = True

    def __init__(self, shape, *, spread=1.0):
        super().__init__(shape)
        self.weight = torch.nn.Parameter(spread * torch.randn(shape.width))


def trunk(net):
    return {k: v for k, v in net.state_dict().items() if not k.startswith("encodings.")}


def test_one_seed_gives_every_encoding_the_same_trunk(encoding_name, model_name, built):
    one = built("encoding=none", f"model={model_name}").net
    other = built(f"encoding={encoding_name}", f"model={model_name}").net
    assert trunk(one).keys() == trunk(other).keys()
    for key, value in trunk(one).items():
        assert torch.equal(value, trunk(other)[key]), key


def test_embeddings_are_as_loud_before_any_encoding(encoding_name, built, monkeypatch):
    loudness = []
    for name in ("none", encoding_name):
        net = built(f"encoding={name}").net
        original = net.encoding.embed

        def embed(x, ids, original=original):
            loudness.append(x.square().mean().sqrt())
            return original(x, ids)

        monkeypatch.setattr(net.encoding, "embed", embed)
        net(torch.arange(12)[None], torch.arange(12)[None], 1)
    assert loudness[0] == loudness[1]


def test_positions_and_dropout_leave_all_weights_alone(positions_name, built):
    one = built("encoding=learned").net.state_dict()
    other = built("encoding=learned", f"positions={positions_name}", "model.dropout=0.2").net
    for key, value in other.state_dict().items():
        assert torch.equal(value, one[key]), key


def test_weights_follow_the_seed_and_nothing_global(encoding_name, built):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = built(f"encoding={encoding_name}").net.state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = built(f"encoding={encoding_name}").net.state_dict()
    other = built(f"encoding={encoding_name}", "seed=1").net.state_dict()
    assert all(torch.equal(again[key], value) for key, value in first.items())
    assert not torch.equal(other["embedding.weight"], first["embedding.weight"])


def test_an_encoding_of_every_layer_has_weights_of_its_own(configured):
    toy = {"name": "toy", "_target_": f"{__name__}.Toy", "spread": 3.0}
    config = replace(configured("model.layers=3"), encoding=toy)
    net = build(config).net
    assert len(net.encodings) == 3
    first, second, _ = (encoding.weight for encoding in net.encodings)
    assert not torch.equal(first, second)
    for key, value in trunk(build(configured("model.layers=3")).net).items():
        assert torch.equal(value, trunk(net)[key]), key


def test_other_encodings_are_shared_by_all_layers(encoding_name, built):
    net = built(f"encoding={encoding_name}", "model=decoder", "model.layers=3").net
    assert len(net.encodings) == (3 if net.encoding.per_layer else 1)


def test_lengths_are_the_legal_ones(built):
    experiment = built("task=copy", "task.symbols=30", "task.unique=true", "length.test=30")
    assert experiment.trained == list(range(5, 21))
    assert experiment.evaluated == [5, 10, 15, 20, 25, 30]
    assert experiment.probed == [20, 30]
    chosen = built("eval.lengths=[7,50]", "eval.probe_lengths=[6]")
    assert (chosen.evaluated, chosen.probed) == ([7, 50], [6])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ("length.min=2", "length.train=4"),
            r"length\.min=2 length\.train=4: no length of who_bit_whom .* it has 5, 6, 7, 8, ",
        ),
        (
            ("task=copy", "task.unique=true", "task.symbols=99", "eval.lengths=[50]"),
            r"task\.symbols=99: too few for 100 unique symbols; set task\.symbols=100",
        ),
        (
            ("eval.lengths=[3]",),
            r"eval\.lengths: who_bit_whom has no problem of length 3 to test; it has 5, 6",
        ),
        (("eval.probe_lengths=[2]",), r"eval\.probe_lengths: .* length 2"),
    ],
)
def test_lengths_that_a_task_lacks_are_refused(configured, overrides, message):
    with pytest.raises(ConfigError, match=message):
        build(configured(*overrides))


@pytest.mark.parametrize("model", ["encoder", "decoder"])
def test_a_table_holds_prompt_and_answer_and_not_one_more(configured, model):
    table = ("task=parity", "encoding=learned", "encoding.max_length=16", f"model={model}")
    exact = build(configured(*table, "length.min=1", "length.train=8", "length.test=15"))
    tokens = torch.zeros(1, 16, dtype=torch.int64)
    assert exact.net(tokens, torch.arange(16)[None], 1).isfinite().all()
    with pytest.raises(ConfigError) as error:
        build(configured(*table, "length.min=1", "length.train=8", "length.test=16"))
    assert all(part in str(error.value) for part in ("learned", "max_length=16", "17"))
    build(configured(*table, "encoding.max_length=17", "length.min=1", "length.test=16",
                     "length.train=8"))  # fmt: skip


def test_a_table_must_hold_every_id_that_the_positions_may_draw(configured):
    with pytest.raises(ConfigError, match=r"max_length=2048\b"):
        build(configured("encoding=learned", "positions=random"))
    build(configured("encoding=learned", "positions=random", "encoding.max_length=2048"))


@pytest.mark.parametrize(
    ("at_eval", "rows"), [("index", 20 + 1 + 500), ("resample", 100 + 1 + 500)]
)
def test_a_table_is_asked_for_no_id_that_is_never_drawn(configured, at_eval, rows):
    shifted = ("encoding=learned", "positions=shifted", f"positions.at_eval={at_eval}")
    build(configured(*shifted, f"encoding.max_length={rows}"))
    with pytest.raises(
        ConfigError,
        match=rf"max_length={rows - 1}: positions=shifted and encoding=learned need {rows} rows",
    ):
        build(configured(*shifted, f"encoding.max_length={rows - 1}"))


def test_a_network_comes_back_from_its_checkpoint(encoding_name, built, tmp_path):
    saved = built(f"encoding={encoding_name}", "model=decoder").net
    state = {f"net.{key}": value for key, value in saved.state_dict().items()}
    torch.save({"state_dict": state}, tmp_path / "last.ckpt")
    restored = built(f"encoding={encoding_name}", "model=decoder", "seed=1", "length.test=400").net
    load_weights(restored, tmp_path / "last.ckpt")
    tokens, ids = torch.arange(12)[None], torch.arange(12)[None]
    assert torch.equal(restored(tokens, ids, 3), saved(tokens, ids, 3))


def test_a_checkpoint_holds_nothing_that_depends_on_a_length(encoding_name, built):
    def shapes(*overrides):
        net = built(f"encoding={encoding_name}", "model=decoder", *overrides).net
        return {key: value.shape for key, value in net.state_dict().items()}

    assert shapes() == shapes("length.train=40", "length.test=300")


@pytest.mark.parametrize("content", [None, b"", b"no checkpoint"])
def test_an_unreadable_checkpoint_is_named(tmp_path, content):
    path = tmp_path / "last.ckpt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"last\.ckpt.*overwrite=true"):
        read_checkpoint(path)


def test_no_code_in_a_checkpoint_is_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path.joinpath("sprung").touch, ())

    torch.save({"state_dict": Trap()}, tmp_path / "last.ckpt")
    with pytest.raises(ConfigError):
        read_checkpoint(tmp_path / "last.ckpt")
    assert not (tmp_path / "sprung").exists()


def test_logits_that_do_not_fit_into_memory_are_refused(built):
    with pytest.raises(ConfigError, match=r"data\.batch_size=10000000: .* do not fit into memory"):
        built("task=copy", "task.symbols=9999", "data.batch_size=10000000")


def test_a_file_that_leaves_nothing_to_test_is_refused(built, tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text('{"prompt":"a b c d e","answer":"x"}\n{"prompt":"b a c d e","answer":"y"}\n')
    with pytest.raises(ConfigError, match=r"file leaves no problem to test in between; let it"):
        built("task=file", f"task.path={path}", "task.held_out=0.0001")
    with pytest.raises(ConfigError, match=r"no length of file in between; none is left to train"):
        built("task=file", f"task.path={path}", "task.held_out=0.9999")


def test_what_lengths_there_are_is_said(built):
    with pytest.raises(ConfigError, match=r"no length of dyck in between; it has 2, 4, 6$"):
        built("task=dyck", "length={min:7,train:7,test:7}")
    with pytest.raises(
        ConfigError, match=r"no problem of length 7 to test; it has 6, 8, 10, 12, \.\.\., 100$"
    ):
        built("task=dyck", "eval.lengths=[7]")
