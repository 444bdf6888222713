"""Several processes train the network that one would, and end together however they end."""

import csv
import multiprocessing
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from command_line import TINY, only_run, run, started, status, wait_until

from posenc.building import check_training
from posenc.checkpoint import read_checkpoint
from posenc.errors import ConfigError, Interrupted, RunFailed
from posenc.results.identity import fingerprint
from posenc.training import ranks
from posenc.training.callbacks import LastCheckpoint
from posenc.training.data import TrainingData
from posenc.training.module import AnswerModule
from posenc.training.ranks import in_ranks

RANKS = ("trainer=ddp",)
STEPS = ("trainer.max_steps=50", "trainer.log_every_n_steps=1", "logger=csv")
UNEVEN = ("task=dyck_completion", "length.min=8", "length.train=12", "length.test=12",
          "eval.lengths=[12]")  # fmt: skip
VARIANTS = {
    "plain": (),
    "odd": ("data.batch_size=5", "data.workers=1"),
    "uneven": (*UNEVEN, "data.batch_size=5"),
    "clipped": (*UNEVEN, "trainer.accumulate_grad_batches=3", "trainer.gradient_clip_val=0.05"),
    "shifted": ("positions=shifted", "encoding=learned", "encoding.max_length=1024"),
    "marked": ("task=addition", "encoding=abacus_fire", "length.min=1"),
}


@pytest.fixture
def runs(runs):
    """Of any task: the quick one has a key that others lack."""
    configured = runs.configured

    def without_its_key(*overrides):
        others = [each for each in overrides if each.startswith("task=")][1:]
        return configured(*(each for each in overrides if not others or "symbols" not in each))

    runs.configured = without_its_key
    return runs


def losses(folder):
    """What was logged of training, by name and step, and what the test came to."""
    with (folder.path / "metrics.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "per_second" not in row["metric"]]
    found = {(row["metric"], row["step"]): float(row["value"]) for row in rows}
    assert len(found) == len(rows), "logged twice"
    return found


def assert_same_training(folder, other):
    assert losses(folder) == pytest.approx(losses(other), abs=1e-5)
    (ours,), (theirs,) = folder.read_rows("lengths.csv"), other.read_rows("lengths.csv")
    assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
    weights, others = (read_checkpoint(each.checkpoint)["state_dict"] for each in (folder, other))
    for name in weights.keys() | others.keys():
        if not name.endswith("to_keys_values.bias"):  # no bias of keys does anything: 0 / 0 in Adam
            torch.testing.assert_close(weights[name], others[name], atol=1e-4, rtol=0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_several_processes_train_what_one_would(runs, variant):
    settings = (*VARIANTS[variant], *STEPS)
    together = runs(*settings, *RANKS, where="together")
    assert_same_training(together, runs(*settings, where="alone"))
    kept = together.status()
    assert (kept["devices"], kept["status"], kept["trained_steps"]) == (2, "finished", 50)
    assert kept["train_seconds"] > 0
    assert kept["tokens_per_second"] > 0
    assert not multiprocessing.active_children()


def test_more_than_two(runs, monkeypatch):
    monkeypatch.setattr("posenc.building.cores", lambda jobs: 3)
    settings = (*UNEVEN, *STEPS)
    alone, together = runs(*settings, where="a"), runs(*settings, "trainer.devices=3", where="b")
    assert_same_training(together, alone)


def rank() -> str | None:
    return os.environ.get("LOCAL_RANK")


@pytest.mark.parametrize(("before", "after"), [((), RANKS), (RANKS, ())])
def test_what_one_began_several_can_end_and_the_other_way_round(runs, at_batch, before, after):
    unbroken = runs(*STEPS, where="unbroken")
    at_batch(20, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted):
        runs(*STEPS, *before)
    folder = runs(*STEPS, *after)
    assert folder.status()["resumed_from"] == 21
    assert_same_training(folder, unbroken)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("to", ["parent", "one rank"])
def test_a_signal_to_any_stops_all_at_the_same_step(runs, at_batch, number, code, to):
    def send():
        if rank() == "1":
            os.kill(os.getppid() if to == "parent" else os.getpid(), number)
            time.sleep(0.1)

    handler = signal.getsignal(number)
    at_batch(33, send)
    with pytest.raises(Interrupted) as stopped:
        runs(*RANKS, "checkpoint.every=1000")
    assert stopped.value.code == code
    folder = runs.folder(runs.config(*RANKS, "checkpoint.every=1000"))
    assert folder.status()["status"] == "interrupted"
    assert read_checkpoint(folder.checkpoint)["global_step"] == 34
    assert [file.name for file in folder.checkpoint.parent.iterdir()] == ["last.ckpt"]
    assert signal.getsignal(number) is handler
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("to", [os.getpid, os.getppid])
def test_a_signal_that_comes_too_late_to_agree_on_loses_no_training(runs, monkeypatch, to):
    end = LastCheckpoint.on_train_end

    def late(self, trainer, pl_module):
        end(self, trainer, pl_module)
        if trainer.is_global_zero:
            os.kill(to(), signal.SIGTERM)

    monkeypatch.setattr(LastCheckpoint, "on_train_end", late)
    with pytest.raises(Interrupted):
        runs(*RANKS)
    folder = runs.folder(runs.config(*RANKS))
    assert read_checkpoint(folder.checkpoint)["global_step"] == 60
    assert folder.status()["status"] == "interrupted"


@pytest.mark.parametrize("moment", ["setup", "train_dataloader"])
def test_a_signal_before_training_has_begun_waits_for_its_first_step(runs, monkeypatch, moment):
    usual = getattr(TrainingData, moment)

    def stopped(self, *arguments, **settings):
        if rank() == "0":
            os.kill(os.getppid(), signal.SIGTERM)
        return usual(self, *arguments, **settings)

    monkeypatch.setattr(TrainingData, moment, stopped)
    with pytest.raises(Interrupted) as end:
        runs(*RANKS)
    assert end.value.code == 143
    assert read_checkpoint(runs.folder(runs.config()).checkpoint)["global_step"] == 1


def test_a_second_ctrl_c_does_not_wait(runs, at_batch):
    def hang():
        if rank() == "0":
            for _ in range(2):
                os.kill(os.getppid(), signal.SIGINT)
                time.sleep(0.2)
        time.sleep(600)

    at_batch(33, hang)
    with pytest.raises(Interrupted) as end:
        runs(*RANKS)
    assert end.value.code == 130
    folder = runs.folder(runs.config())
    assert folder.status()["status"] == "interrupted"
    assert read_checkpoint(folder.checkpoint)["global_step"] == 20
    assert not multiprocessing.active_children()


class Odd(Exception):
    """That no other process can have."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def spoil():
    raise ValueError("spoilt")


def spoil_oddly():
    raise Odd("so", "so")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("where", ["0", "1"])
@pytest.mark.parametrize(
    ("end", "said"),
    [
        (spoil, "ValueError: spoilt"),
        (spoil_oddly, "Odd: so so"),
        (die, r"ChildProcessError: rank {} of 2 was ended by SIGKILL"),
        (lambda: os._exit(7), r"ChildProcessError: rank {} of 2 was ended by 7"),
    ],
)
def test_a_rank_that_fails_ends_the_run(runs, at_batch, where, end, said):
    at_batch(33, lambda: end() if rank() == where else None)
    with pytest.raises(RunFailed, match=said.format(where)):
        runs(*RANKS)
    folder = runs.folder(runs.config(*RANKS))
    assert folder.status()["status"] == "failed"
    if end is spoil:
        assert f"in rank {where} of 2:" in folder.status()["traceback"]
        assert "in spoil" in folder.status()["traceback"]
    assert read_checkpoint(folder.checkpoint)["global_step"] == 20
    assert not multiprocessing.active_children()


def test_a_rank_that_hangs_is_not_waited_for(runs, at_batch, monkeypatch):
    monkeypatch.setattr(ranks, "GRACE", 0.5)
    at_batch(33, lambda: spoil() if rank() == "1" else time.sleep(600))
    began = time.monotonic()
    with pytest.raises(RunFailed, match="spoilt"):
        runs(*RANKS)
    assert time.monotonic() < began + 20
    assert not multiprocessing.active_children()


def test_a_loss_that_is_not_finite_stops_all(runs, at_batch, monkeypatch):
    def spoil_the_loss():
        if rank() == "1":
            from posenc.training import module

            original = module.answer_loss
            nan = float("nan")
            monkeypatch.setattr(module, "answer_loss", lambda *a, **k: original(*a, **k) * nan)

    at_batch(17, spoil_the_loss)
    with pytest.raises(RunFailed, match="FloatingPointError: the loss is nan at step 19"):
        runs(*RANKS, "checkpoint.every=1000")


def test_the_first_alone_speaks(runs, capfd):
    runs(*RANKS, "trainer.enable_progress_bar=true")
    said = capfd.readouterr().err
    assert 1 <= said.count("training") <= said.count("\r") + 1
    assert "Gloo" not in said
    assert "warning" not in said.lower()


def test_ranks_draw_their_own_dropout_and_share_the_ids(built):
    experiment = built("positions=shifted", "model.dropout=0.5", "task=reverse")
    drawn, batch = [], experiment.task.sample(8, 6, torch.Generator().manual_seed(0))
    rest = {"seed": 3, "accumulate": 1, "clip": None, "compiled": False}
    rest["pause"] = lambda step: True
    for own in ((), (0,), (1,)):
        module = AnswerModule(experiment.net, experiment.positions, lambda net: None, **rest)
        module._rank, module.rows = own, slice(own[0], None, 2) if own else slice(None)
        module._seed_dropout(0)
        drawn.append(torch.rand(3))
        if not own:
            whole = module.eval().loss(batch, 0)
            continue
        share, logits = module.eval().loss(batch, 0)
        torch.testing.assert_close(logits, whole[1][module.rows])
        whole = (whole[0] - share, whole[1])
    assert whole[0].abs() < 1e-6
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[1], drawn[2])


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (("trainer.devices=5",), "trainer.devices=5: a batch of data.batch_size=4 problems"),
        (("trainer.devices=4",), "trainer.devices=4: this process may use 3 CPU cores"),
    ],
)
def test_more_processes_than_work_or_cores_are_refused(runs, monkeypatch, settings, line):
    monkeypatch.setattr("posenc.building.cores", lambda jobs: 3)
    with pytest.raises(ConfigError) as refusal:
        runs(*settings)
    assert str(refusal.value).startswith(line)
    assert not runs.root.joinpath("outputs").exists()


def test_several_gpus_are_refused(runs):
    config = runs.config("trainer=gpu", "trainer.devices=2")
    with pytest.raises(ConfigError, match=r"^trainer\.devices=2: one GPU trains"):
        check_training(config)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_refused_in_one_line(tmp_path):
    ended = run(*TINY, "trainer=gpu", f"outputs={tmp_path / 'outputs'}")
    assert ended.code == 2
    assert ended.err.startswith("error: trainer.accelerator=gpu: PyTorch finds none here")
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("devices", [0, 1025])
def test_numbers_of_processes_that_cannot_be_are_refused(runs, devices):
    with pytest.raises(ConfigError, match=rf"^trainer\.devices={devices}: must be between"):
        runs.config(f"trainer.devices={devices}")


def test_how_a_run_is_trained_makes_it_no_other(configured):
    plain = fingerprint(asdict(configured()))
    assert fingerprint(asdict(configured("trainer=ddp"))) == plain
    assert fingerprint(asdict(configured("trainer.compile=true"))) == plain
    assert fingerprint(asdict(configured("trainer=gpu"))) != plain


def living(group: int) -> list[str]:
    """The processes of a process group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, own = path.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(own) == group and state not in "ZX":
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(number, tmp_path):
    """Ctrl-C reaches all processes at once, SIGTERM and SIGKILL the first alone."""
    outputs = tmp_path / "outputs"
    command = (
        *TINY,
        *RANKS,
        "trainer.max_steps=100000",
        "checkpoint.every=5",
        f"outputs={outputs}",
    )
    with started(*command, cwd=tmp_path) as process:
        wait_until(lambda: list(outputs.rglob("last.ckpt")), process)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        code = process.wait(timeout=60)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    end = time.monotonic() + 5
    while living(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not living(process.pid)
    said = "running" if number == signal.SIGKILL else "interrupted"
    assert status(only_run(outputs))["status"] == said
    output = (tmp_path / "output").read_text()
    assert "Traceback" not in output
    assert len(output.splitlines()) == (1 if number == signal.SIGKILL else 2)


def test_work_that_is_done_returns():
    in_ranks(2, lambda number: None)
    assert not multiprocessing.active_children()
    assert rank() is None


def test_a_rank_that_cannot_begin_is_told_of():
    def begin(number):
        if number == 1:
            raise ConfigError("threads=0: no")

    with pytest.raises(ConfigError, match="threads=0: no") as refusal:
        in_ranks(2, begin)
    assert "in rank 1 of 2" in refusal.value.__notes__[0]


WITH_COMPILER = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
"""Of what torch itself imports."""


@pytest.mark.slow
@WITH_COMPILER
@pytest.mark.parametrize("trainer", [(), RANKS])
def test_compiled_training_is_the_same(runs, trainer):
    """Dropout and all, and compiled once for all lengths."""
    settings = ("encoding=rope", "model.dropout=0.1", *STEPS, *trainer)
    counts = torch._dynamo.utils.counters
    counts.clear()
    compiled = runs(*settings, "trainer.compile=true", where="compiled")
    assert compiled.status()["compile"] is True
    assert_same_training(compiled, runs(*settings, where="eager"))
    if not trainer:
        assert counts["stats"]["unique_graphs"] == 2  # one of them to see whether it works


@pytest.mark.slow
@WITH_COMPILER
def test_every_encoding_is_compiled_once_for_all_lengths(
    encoding_name, model_name, built, monkeypatch
):
    usual = torch.compile

    def traced(call, dynamic, options):
        return usual(call, dynamic=dynamic, backend="eager")

    monkeypatch.setattr(torch, "compile", traced)
    experiment = built(
        "task=reverse", f"encoding={encoding_name}", f"model={model_name}", "length.min=5"
    )
    rest = {"seed": 0, "accumulate": 1, "clip": None, "compiled": True, "pause": bool}
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    module = AnswerModule(experiment.net, experiment.positions, lambda net: None, **rest)
    for number in range(5, 12):
        batch = experiment.task.sample(3, number, torch.Generator().manual_seed(number))
        module.loss(batch, number)[0].backward()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    assert not torch._dynamo.utils.counters["graph_break"]


@WITH_COMPILER
def test_without_a_compiler_it_is_refused_in_one_line(runs, monkeypatch):
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", (None, "no-such-compiler"))
    with pytest.raises(ConfigError) as refusal:
        runs("trainer.compile=true")
    assert str(refusal.value).startswith("trainer.compile=true: torch.compile does not work here (")
    assert "no-such-compiler" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not runs.root.joinpath("outputs").exists()
