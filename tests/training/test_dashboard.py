"""What TensorBoard finds in the folder of a run that broke off on its way."""

import io
import math
import time

import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from posenc.errors import RunFailed
from posenc.seeding import generator
from posenc.training.dashboard import _markdown, _spread, _text_and_pictures

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
        "train/loss", "train/exact", "train/tokens_per_second", "optimizer/lr",
        "eval/exact/3", "eval/exact/5",
        "length_generalization/exact", "length_generalization/token_accuracy",
        "length_generalization/loss", "length_generalization/chance",
        "final/in_range_exact", "final/score", "final/holds_to",
    }  # fmt: skip


def test_every_step_comes_once(events):
    for tag in ("train/loss", "train/exact", "train/tokens_per_second", "optimizer/lr"):
        assert steps(events, tag) == list(range(3, 61, 3)), tag
    for tag in ("eval/exact/3", "eval/exact/5"):
        assert steps(events, tag) == list(range(5, 61, 5)), tag


def test_figures_are_what_they_say(events):
    for event in events.Scalars("train/loss"):  # 20 symbols, a few steps: near a uniform guess
        assert 0.5 * math.log(20) < event.value < 1.5 * math.log(20)
    assert all(event.value > 0 for event in events.Scalars("train/tokens_per_second"))
    for event in events.Scalars("optimizer/lr")[1:]:  # the rate of the next step; 3 up, 57 down
        rate = 0.0005 * (1 + math.cos(math.pi * (event.step - 3) / 57))
        assert event.value == pytest.approx(rate, abs=1e-9)


def test_the_length_stands_on_the_step_axis(broken, events):
    rows = broken.read_rows("lengths.csv")
    for name in ("exact", "token_accuracy", "loss", "chance"):
        curve = events.Scalars(f"length_generalization/{name}")
        assert [event.step for event in curve] == [2, 5, 10]
        assert [event.value for event in curve] == pytest.approx([row[name] for row in rows])


def test_settings_come_with_the_final_figures(events):
    content = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    settings = HParamsPluginData.FromString(content).session_start_info.hparams
    plain = {key: value.string_value or value.number_value for key, value in settings.items()}
    assert plain["encoding"] == "learned"
    assert plain["task"] == "copy"
    assert plain["model"] == "decoder"
    assert plain["positions"] == "index"
    assert plain["seed"] == 0
    assert not any("hp_metric" in tag for tag in events.Tags()["scalars"])
    content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
    metrics = HParamsPluginData.FromString(content).experiment.metric_infos
    assert {metric.name.tag for metric in metrics} >= {"final/score", "final/in_range_exact"}


def test_pictures_can_be_opened(events):
    expected = {f"attention/layer{layer}" for layer in (1, 2)}
    expected |= {"encoding/table", "encoding/similarity", "encoding/distance"}
    assert set(events.Tags()["images"]) == expected
    for tag in expected:
        (image,) = events.Images(tag)
        picture = Image.open(io.BytesIO(image.encoded_image_string)).convert("L")
        assert min(picture.size) > 100
        low, high = picture.getextrema()
        assert low < high


def test_an_encoding_is_drawn_on_the_positions_of_the_run(built):
    plain, shuffled = (
        _text_and_pictures(built("encoding=sinusoidal", f"positions={source}"), 0)[1]
        for source in ("index", "shuffled")
    )
    assert plain["encoding/table"].shape == shuffled["encoding/table"].shape
    assert (plain["encoding/table"] != shuffled["encoding/table"]).any()


def test_samples_are_legible(events):
    (tag,) = [tag for tag in events.Tags()["tensors"] if tag.startswith("samples")]
    (event,) = events.Tensors(tag)
    text = event.tensor_proto.string_val[0].decode()
    header, _, *lines = text.splitlines()
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
