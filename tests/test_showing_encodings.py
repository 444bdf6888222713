"""What scripts/show.py says and draws of an encoding that nobody has trained."""

import re
from pathlib import Path

import pytest
from command_line import Ended, run
from hydra import compose, initialize_config_dir
from PIL import Image

from posenc.catalogue import page, stands_for
from posenc.choosing import CONFIGS, choices
from posenc.portrait import caption
from posenc.schema import load

SMALL = ("model.width=16", "model.heads=2", "length=24")


def show(*arguments: str) -> Ended:
    return run(*arguments, script="scripts/show.py")


def pictures(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.png")}


def plot(path: Path) -> bytes:
    """The picture without the caption above it, and without what that makes wider."""
    image = Image.open(path)
    return image.crop((0, 110, 400, image.height)).tobytes()


@pytest.mark.parametrize("encoding", choices("encoding"))
def test_every_encoding_is_shown_or_refused_in_one_line(encoding: str, tmp_path: Path) -> None:
    shown = [show(f"encoding={encoding}", f"model={m}", f"out={tmp_path / m}", *SMALL)
             for m in ("encoder", "decoder")]  # fmt: skip
    for ended in shown:
        if ended.code:
            assert re.fullmatch(r"error: \S+[=:].*\n", ended.err)
            continue
        assert ended.err == ""
        drawn = re.findall(r"\S+\.png", ended.out)
        assert all(Image.open(path).getcolors(maxcolors=2) is None for path in drawn)
        if not stands_for("encoding", encoding):
            own = page("encoding", encoding)
            assert own.text in ended.out
            assert all(line in ended.out for line in own.formula.splitlines())
    refusals = [ended.err for ended in shown if ended.code]
    assert len(refusals) < 2 or stands_for("encoding", encoding)


def test_settings_are_those_of_train(tmp_path: Path) -> None:
    ended = show("encoding=t5", "encoding.buckets=8", "model=decoder", "length=9", "seed=3",
                 f"out={tmp_path}")  # fmt: skip
    assert "encoding=t5, decoder of 2 layers and 4 heads, width 64\n" in ended.out
    assert "acts by      bias\nparameters   32\n" in ended.out
    assert "9 tokens, before training, seed 3\n" in ended.out
    assert pictures(tmp_path) == {"bias", "distance"}


def test_parts_and_positions_are_named(tmp_path: Path) -> None:
    ended = show("encoding=combined", "encoding.parts=[sinusoidal,alibi]", "positions=random",
                 f"out={tmp_path}", *SMALL)  # fmt: skip
    assert "\nalibi: Attention with linear biases" in ended.out
    assert "\n    bias(i, j) = -slope * |i - j|" in ended.out
    assert "acts by      additive, bias\n" in ended.out
    assert "positions    random: Randomised positions" in ended.out
    assert "\nstep " not in ended.out  # which was measured of other parts


def test_places_of_digits_come_from_a_problem_of_the_task(tmp_path: Path) -> None:
    choice = ("encoding=abacus_rope", "task=addition", f"out={tmp_path}")
    ended = show(*choice, *SMALL)
    assert ended.code == 0, ended.err
    assert "\nlearned, positions=abacus: One learned vector" in ended.out
    assert pictures(tmp_path) == {"table", "similarity", "rotation", "distance"}
    with_index = tmp_path / "index"
    show("encoding=combined", "task=addition", f"out={with_index}", *SMALL)
    same = [plot(tmp_path / name) == plot(with_index / name)
            for name in ("rotation.png", "similarity.png")]  # fmt: skip
    assert same == [True, False]


def test_pictures_of_an_earlier_call_do_not_stay(tmp_path: Path) -> None:
    assert show("encoding=alibi", f"out={tmp_path}", *SMALL).code == 0
    assert show("encoding=rope", f"out={tmp_path}", *SMALL).code == 0
    assert pictures(tmp_path) == {"rotation", "distance"}
    ended = show("encoding=none", f"out={tmp_path}", *SMALL)
    assert "pictures     none: " in ended.out
    assert pictures(tmp_path) == set()


def test_where_nothing_is_drawn_no_folder_is_left(tmp_path: Path) -> None:
    assert show("encoding=none", f"outputs={tmp_path}", *SMALL).code == 0
    assert not list(tmp_path.iterdir())


def test_every_setting_and_length_has_a_folder_of_its_own_below_outputs(tmp_path: Path) -> None:
    different: list[list[str]] = [
        [], ["length=25"], ["seed=1"], ["encoding.threshold=9"], ["positions.span=99"],
        ["positions.at_eval=even"], ["model.heads=4"], ["task=copy"],
    ]  # fmt: skip
    common = ("encoding=fire", "positions=random", f"outputs={tmp_path}")
    for changes in different:
        assert show(*common, *SMALL, *changes).code == 0, changes
    folders = list((tmp_path / "pictures" / "encoder-fire-random").iterdir())
    assert len(folders) == len(different)
    assert all(pictures(folder) == {"bias", "distance"} for folder in folders)


def test_pictures_name_what_they_show() -> None:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = load(
            compose(
                "train",
                ["encoding=abacus_rope", "task=addition", "positions=random", "positions.span=99"],
            )
        )
    assert caption(config, 24) == [
        "combined (parts=[learned (positions=abacus), rope]), encoder, positions=random (span=99), "
        "24 tokens of addition",
        "4 heads, width 64, untrained, seed 0",
    ]


def test_a_scaled_rope_is_stretched_to_the_length_that_is_drawn(tmp_path: Path) -> None:
    """At the longest trained length it is plain RoPE."""
    for length, alike in (("20", True), ("40", False)):
        files = []
        for encoding in ("rope", "rope_linear"):
            out = tmp_path / f"{encoding}{length}"
            assert show(f"encoding={encoding}", f"length={length}", f"out={out}").code == 0
            files.append(plot(out / "distance.png"))
        assert (files[0] == files[1]) == alike


@pytest.mark.parametrize(
    ("argument", "part"),
    [
        ("encoding=rpoe", "did you mean 'rope'?"),
        ("encoding.base=-1", "must be positive"),
        ("encoding.bse=1", "no such key"),
        ("length=7", "it counts tokens, from 8 to 4096"),
        ("length=5000", "it counts tokens, from 8 to 4096"),
        ("length=99999999", "it counts tokens, from 8 to 4096"),
        ("length=many", "must be a number of tokens"),
        ("model.heads=3", "not divisible"),
        ("rope", "write key=value"),
        ("prompt=the dog", "run= is missing"),
        ("out=/dev/null/x", "name a folder to write in"),
    ],
)
def test_a_mistake_is_one_line(argument: str, part: str, tmp_path: Path) -> None:
    ended = show(f"outputs={tmp_path}", argument)
    assert (ended.code, ended.out) == (2, "")
    assert re.fullmatch(r"error: .*\n", ended.err)
    assert part in ended.err
    assert not list(tmp_path.iterdir())


def test_a_table_too_short_for_the_length_is_refused(tmp_path: Path) -> None:
    ended = show("encoding=learned", "length=600", f"out={tmp_path / 'new'}")
    assert "set encoding.max_length=600" in ended.err
    assert not (tmp_path / "new").exists()


def test_length_counts_tokens_whatever_the_task_calls_its_own(tmp_path: Path) -> None:
    """200 tokens hold an addition of 66 digits, not one of 200, which would need 602 rows."""
    ended = show("encoding=learned", "task=addition", "length=200", f"out={tmp_path}")
    assert ended.code == 0, ended.err
    assert re.search(r"\npictures     (199|200) tokens", ended.out)
