"""What TensorBoard finds in the folder of a run that broke off on its way."""

import io
import math
import re
import time
from pathlib import Path

import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from posenc.errors import RunFailed
from posenc.publishing import outcome
from posenc.results.outcome import Result
from posenc.results.records import RunFolder
from posenc.results.terminal import markdown
from posenc.seeding import generator
from posenc.training.dashboard import _markdown, _spread, samples_and_pictures

SETTINGS = (
    "logger=tensorboard", "trainer.accumulate_grad_batches=2", "trainer.log_every_n_steps=3",
    "eval.probe_every=5", "eval.probe_samples=4", "eval.probe_lengths=[3,5]", "encoding=learned",
    "length.test=10", "eval.lengths=[2,5,10]",
)  # fmt: skip


def read(folder):
    events = EventAccumulator(str(folder.path), {"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return events


@pytest.fixture(scope="module")
def broken(module_runs):
    """A run that broke in the midst of step 48, eight steps after a checkpoint, and was resumed."""
    runs, at_batch = module_runs
    at_batch(95, crash)
    with pytest.raises(RunFailed):
        runs(*SETTINGS)
    folder = runs.folder(runs.config(*SETTINGS))
    assert [event.step for event in read(folder).Scalars("train/loss")][-1] == 45
    time.sleep(1)  # files of one process and second are read in the order of .9 and .10
    return runs(*SETTINGS)


def crash():
    raise RuntimeError("the power went out")


@pytest.fixture(scope="module")
def events(broken):
    return read(broken)


def steps(events, tag):
    return [event.step for event in events.Scalars(tag)]


def test_every_curve_is_there_and_no_other(events):
    assert set(events.Tags()["scalars"]) == {
        "train/loss", "train/exact", "train/tokens_per_second", "train/lr",
        "probe/exact/3", "probe/exact/5",
        "length_generalization/exact", "length_generalization/token_accuracy",
        "test/loss", "test/chance", "outcome/in_range_exact", "outcome/score", "outcome/holds_to",
    }  # fmt: skip


def test_every_step_comes_once(events):
    for tag in ("train/loss", "train/exact", "train/tokens_per_second", "train/lr"):
        assert steps(events, tag) == list(range(3, 61, 3)), tag
    for tag in ("probe/exact/3", "probe/exact/5"):
        assert steps(events, tag) == list(range(5, 61, 5)), tag


def test_figures_are_what_they_say(events):
    for event in events.Scalars("train/loss"):  # 20 symbols, a few steps: near a uniform guess
        assert 0.5 * math.log(20) < event.value < 1.5 * math.log(20)
    assert all(event.value > 0 for event in events.Scalars("train/tokens_per_second"))
    for event in events.Scalars("train/lr")[1:]:  # the rate of the next step; 3 up, 57 down
        rate = 0.0005 * (1 + math.cos(math.pi * (event.step - 3) / 57))
        assert event.value == pytest.approx(rate, abs=1e-9)


def test_the_length_stands_on_the_step_axis(broken, events):
    rows = broken.read_rows("lengths.csv")
    for tag in ("length_generalization/exact", "length_generalization/token_accuracy",
                "test/loss", "test/chance"):  # fmt: skip
        curve = events.Scalars(tag)
        assert [event.step for event in curve] == [2, 5, 10]
        own = [row[tag.partition("/")[2]] for row in rows]
        assert [event.value for event in curve] == pytest.approx(own)


def test_what_the_run_came_to(broken, events):
    first, second, third = (row["exact"] for row in broken.read_rows("lengths.csv"))
    assert broken.read_rows("lengths.csv")[1]["train_max"] == 5
    found = {tag: [e.value for e in events.Scalars(f"outcome/{tag}")] for tag in
             ("in_range_exact", "score", "holds_to")}  # fmt: skip
    assert found["in_range_exact"] == [pytest.approx((first + second) / 2)]
    # Lengths 6 to 10 lie on a line between those at 5 and 10.
    assert found["score"] == [pytest.approx(second + 0.6 * (third - second))]
    assert found["holds_to"] == [0]


def test_nothing_longer_tested_is_no_score():
    rows = [{"length": length, "exact": 1.0, "in_range": True, "train_max": 5} for length in (2, 5)]
    assert outcome(Result(RunFolder(Path()), "lengths.csv", rows)) == {
        "outcome/holds_to": 5,
        "outcome/in_range_exact": 1.0,
    }


def test_a_run_is_told_apart_by_what_it_is_and_what_its_command_sets(events):
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    columns = HParamsPluginData.FromString(content).session_start_info.hparams
    kinds = {key: value.WhichOneof("kind") for key, value in columns.items()}
    assert kinds == {
        **dict.fromkeys(("task", "model", "encoding", "positions"), "string_value"),
        **dict.fromkeys(("seed", "trainer.accumulate_grad_batches"), "number_value"),
    }
    assert columns["encoding"].string_value == "learned"
    assert columns["trainer.accumulate_grad_batches"].number_value == 2
    # A list of columns in one run would hide those of others.
    assert "_hparams_/experiment" not in events.summary_metadata
    assert not any("hp_metric" in tag for tag in events.Tags()["scalars"])


def test_booleans_stay_booleans(runs):
    events = read(runs("logger=tensorboard", "encoding=dynamic_bias", "encoding.log_distance=true"))
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    columns = HParamsPluginData.FromString(content).session_start_info.hparams
    assert columns["encoding.log_distance"].bool_value is True


def test_pictures_can_be_opened(events):
    expected = {f"views/layer{layer}_attention" for layer in (1, 2)}
    expected |= {f"views/encoding_{name}" for name in ("table", "similarity", "distance")}
    expected |= {"views/by_length", "views/by_place"}
    assert set(events.Tags()["images"]) == expected
    for tag in expected:
        (image,) = events.Images(tag)
        picture = Image.open(io.BytesIO(image.encoded_image_string))
        assert picture.size == (image.width, image.height)
        assert min(picture.size) > 200
        low, high = picture.convert("L").getextrema()
        assert low < high


def test_an_encoding_is_drawn_on_the_positions_of_the_run(built):
    plain, shuffled = (
        samples_and_pictures(built("encoding=sinusoidal", f"positions={source}"), 0)[1]
        for source in ("index", "shuffled")
    )
    assert plain["encoding_table"].to_dict() != shuffled["encoding_table"].to_dict()


def test_the_custom_page_finds_its_curves(events):
    *_, event = events.Tensors("custom_scalars__config__")  # one of each process
    layout = Layout.FromString(event.tensor_proto.string_val[0])
    charts = [chart for category in layout.category for chart in category.chart]
    found = [
        {tag for tag in events.Tags()["scalars"] for each in chart.multiline.tag
         if re.match(each, tag)}
        for chart in charts
    ]  # fmt: skip
    assert found == [
        {"probe/exact/3", "probe/exact/5"},
        {"train/loss"},
        {"length_generalization/exact", "test/chance"},
        {"test/loss"},
    ]


def text(events, name):
    (event,) = events.Tensors(f"{name}/text_summary")
    return event.tensor_proto.string_val[0].decode()


def test_the_result_and_the_settings_are_written(broken, events):
    rows, result = broken.read_rows("lengths.csv"), text(events, "result")
    assert result == markdown(rows)
    settings = text(events, "settings").removeprefix("```yaml\n").removesuffix("```")
    assert settings == (broken.path / "config.yaml").read_text()


def test_samples_are_legible(events):
    header, _, *lines = text(events, "samples").splitlines()
    assert "prompt" in header
    assert len(lines) == 10
    for line in lines:
        prompt, answer, said, verdict = (cell.strip() for cell in line.strip("|").split("|"))
        assert len(prompt.split()) == 5
        assert answer == prompt  # the task is copy
        assert verdict == ("right" if said == answer else "**wrong**")


def test_a_run_is_one_entry_of_the_list(broken):
    files = list(broken.path.rglob("events.out.tfevents.*"))
    assert {file.parent for file in files} == {broken.path}
    assert len(files) == 2  # one for each process
    assert not list(broken.path.rglob("hparams.yaml"))


@pytest.mark.parametrize(
    ("there", "drawn"), [(1, [1]), (4, [1, 2, 3, 4]), (5, [1, 2, 4, 5]), (24, [1, 9, 16, 24])]
)
def test_of_many_layers_some_are_drawn_from_the_first_to_the_last(there, drawn):
    assert _spread(there, 4) == drawn


@pytest.mark.parametrize("name", ["flip_flop", "stack_manipulation", "stream"])
def test_samples_show_what_is_asked_and_judge_what_counts(name, built):
    """`_markdown` of answers that are right wherever it counts and nowhere else."""
    task = built(f"task={name}", "model=decoder").task
    sample = task.sample(20, task.lengths(5, 20)[-1], generator(0, "shown"))
    judged = sample.scored if sample.judged is None else sample.judged
    said = sample.answer.where(judged, (sample.answer + 1) % len(task.vocabulary))
    _, _, *lines = _markdown(sample, said, task.vocabulary).splitlines()
    for line, prompt in zip(lines, sample.prompt.tolist(), strict=True):
        shown, answer, words, verdict = (cell.strip() for cell in line.strip("|").split("|"))
        assert shown == task.vocabulary.decode(prompt)
        assert answer == task.vocabulary.decode(task.solve(prompt))
        assert len(words.split()) == len(answer.split())
        assert verdict == "right"
    wrong = said.where(~judged, (sample.answer + 1) % len(task.vocabulary))
    assert "| right |" not in _markdown(sample, wrong, task.vocabulary)
