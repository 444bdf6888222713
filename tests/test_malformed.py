"""Whatever is typed wrong gets one short line with the remedy, at once, and leaves nothing.

test_cli.py has more such lines for train.py, and test_reopen.py for what is asked of a run.
"""

import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY, Ended, only_run, run

from posenc.choosing import PROJECT

SHORT = 300
"""Characters of a line."""

# Arguments, and what the line must hold. Paths stand for RUN and OUTPUTS, a run and where it lies.
TRAIN = {
    "optimizer.lr=nan": ["optimizer.lr=nan", "above 0"],
    "optimizer.lr=1e400": ["optimizer.lr=inf", "above 0"],
    "optimizer.lr=1e-400": ["optimizer.lr=0.0", "above 0"],
    "optimizer.lr=0x10": ["optimizer.lr=0x10", "float"],
    "optimizer.lr=true": ["optimizer.lr=True", "float"],
    "'optimizer.lr=1e-3;'": ["'optimizer.lr=1e-3;'", "key=value"],
    "optimizer.betas=0.9": ["optimizer.betas=0.9", "list[float]"],
    "optimizer.betas=[nan,0.9]": ["optimizer.betas=[nan, 0.9]", "[0, 1)"],
    "optimizer.weight_decay=nan": ["optimizer.weight_decay=nan", "between 0"],
    "optimizer=sgd": ["optimizer=sgd", "adamw"],
    "seed=-1": ["seed=-1", "between 0"],
    "seed=1e3": ["seed=1000.0", "int"],
    "seed=99999999999999999999": ["seed=99999999999999999999", "between 0"],
    "seed=null": ["seed=None", "int"],
    "seed=true": ["seed=True", "int"],
    "seed==3": ["'seed==3'", "key=value"],
    "seed:3": ["'seed:3'", "key=value"],
    "'seed = 3'": ["'seed = 3'", "key=value"],
    "'seed=3 4'": ["seed=3 4", "int"],
    "seed=1,": ["'seed=1,'", "key=value"],
    "'seed=$HOME'": ["seed=$HOME", "int"],
    "'seed=${oc.env:NOPE}'": ["seed", "'NOPE'"],
    "'seed=${'": ["'seed=${'", "key=value"],
    "'seed=[1'": ["'seed=[1'", "key=value"],
    "length.train=0": ["length.train=0", "between 1"],
    "length.min=30": ["length.train=20", "length.min=30"],
    "length.train=200": ["length.test=100", "length.train=200"],
    "length.test=1048577": ["length.test=1048577", "1048576"],
    "length=5": ["length=5", "min, train, test"],
    "eval.lengths=5": ["eval.lengths=5", "list[int]"],
    "eval.lengths=[]": ["eval.lengths=[]", "null"],
    "eval.lengths=[5.5]": ["eval.lengths=[5.5]", "list[int]"],
    "eval.lengths=[5,10": ["'eval.lengths=[5,10'", "key=value"],
    "eval.lengths=5,10": ["eval.lengths=5,10", "-m"],
    "eval.lengths.0=3": ["eval.lengths.0", "no such key"],
    "eval.second=[]": ["eval.second=[]", "null"],
    "model.heads=0": ["model.heads=0", "between 1"],
    "model.heads=3": ["model.width=64", "model.heads=3", "divisible"],
    "model.width=-64": ["model.width=-64", "between 1"],
    "model.dropout=nan": ["model.dropout=nan", "below 1"],
    "model.causal=true": ["model.causal=True", "model=encoder"],
    "model=Decoder": ["model=Decoder", "decoder"],
    "model..width=3": ["'model..width=3'", "key=value"],
    "model.width.foo=3": ["model.width.foo", "no such key"],
    "model@y=encoder": ["model@y", "'model'"],
    "a@b=1": ["'a@b=1'", "key=value"],
    "@foo=1": ["@foo=1'", "key=value"],
    "'~'": ["'~'", "key=value"],
    "'–m seed=1,2'": ["'–m seed=1,2'", "key=value"],
    "''": ["''", "key=value"],
    "task=": ["task=", "--help lists all"],
    "task=revrse": ["task=revrse", "'reverse'"],
    "task=copy task.symbols=abc": ["task.symbols=abc", "int"],
    "task=copy task.symbol=5": ["task.symbol", "no such key"],
    "task.symbols=5": ["task.symbols", "no such key"],
    "task.name=reverse": ["reverse", "set task=reverse"],
    "task=file task.path=/no/such/file": ["task.path=/no/such/file", "name a file"],
    "task=file task.path=/dev": ["task.path=/dev", "name a file"],
    "task=file task.path=/etc/passwd": ["task.path=/etc/passwd: line 1", '{"prompt"'],
    "encoding=Rope": ["encoding=Rope", "'rope'"],
    "encoding=../positions/random": ["encoding=random", "--help lists all"],
    "encoding=rope encoding.base=nan": ["encoding.base=nan", "float"],
    "encoding=learned encoding.max_length=1e9": ["encoding.max_length=1000000000.0", "int"],
    "encoding=combined encoding.parts=[foo]": ["encoding.parts", "encoding=foo", "--help"],
    "encoding=combined encoding.parts=foo": ["encoding.parts=foo", "list"],
    "positions.draws=0": ["positions.draws", "no such key"],
    "trainer.precision=16": ["trainer.precision=16", "32-true"],
    "trainer.accelerator=tpu": ["trainer.accelerator=tpu", "cpu, gpu"],
    "data.batch_size=1e99": ["data.batch_size=1e+99", "int"],
    "data.workers=9999": ["data.workers=9999", "1024"],
    "threads=all": ["threads=all", "int"],
    "checkpoint=foo": ["checkpoint=foo", "every"],
    "logger=mlflow logger.tracking_uri=foo": ["logger.tracking_uri=foo", "sqlite:///PATH"],
    "overwrite=maybe": ["overwrite=maybe", "bool"],
    "outputs=null": ["outputs=None", "str"],
    "outputs=~": ["'outputs=~'", "key=value"],
    "outputs=/dev/null": ["outputs: ", "/dev/null", "set outputs="],
    "experiment=three_tasks,encodings": ["experiment=three_tasks,encodings", "-m"],
    "-m 'seed=range(0)'": ["-m", "at least one value"],
    "-m 'seed=choice(1,2'": ["'seed=choice(1,2'", "key=value"],
    "-m launcher=joblib launcher.jobs=abc": ["launcher.jobs=abc", "whole number"],
    "-m launcher=joblib launcher.cores=abc": ["launcher.cores=abc", "whole number"],
    "-m launcher.jobs=2 seed=0,1": ["launcher.jobs=2", "launcher=joblib"],
    "-m 'optimizer.lr=interval(0.1,1)'": ["optimizer.lr=interval(0.1,1)", "sweeper=optuna"],
    "--config-name=foo": ["--config-name=foo", "leave it out"],
    "--config-dir=/no": ["--config-dir=/no", "no such folder"],
    "--config-path=/no": ["--config-path=/no", "leave it out"],
    "--resolve": ["--resolve", "--cfg"],
    "hydra.mode=foo": ["hydra.mode=foo", "MULTIRUN"],
}
TRAIN_BUILDING = {
    "eval.probe_lengths=[2]": ["eval.probe_lengths", "length 2"],
    "task=dyck length.min=7 length.train=7": ["length.train=7", "it has 2, 4, 6"],
    "task=addition task.base=1": ["task.base=1", "from 2 to 100"],
    "task=needle task.symbols=1": ["task.symbols=1", "even"],
    "task=stream": ["model=encoder", "model=decoder"],
    "encoding=cope": ["encoding=cope", "model=decoder"],
    "encoding=rope encoding.base=0": ["encoding.base=0.0", "positive"],
    "encoding=t5 encoding.buckets=0": ["encoding.buckets=0", "even"],
    "encoding=learned encoding.max_length=0": ["encoding.max_length=0", "at least 1"],
    "encoding=learned positions=interpolated": ["positions=interpolated", "encoding=learned"],
    "positions=random positions.span=5": ["positions.span=5", "positions.span=101"],
    "positions=random positions.draws=-1": ["positions.draws=-1", "at least 1"],
    "positions=abacus task=copy": ["positions=abacus", "no numbers"],
}
EVALUATE = {
    "RUN": ["key=value"],
    "run=RUN/lengths.csv": ["run=", "there is no run"],
    "run=RUN length.test=1e99": ["length.test=1e+99", "int"],
    "run=RUN eval.lengths=[999]": ["eval.lengths=[999]", "length.test=999"],
    "run=RUN eval.lengths=[2]": ["eval.lengths", "length 2", "it has 5"],
    "run=RUN eval.samples=10000000000": ["eval.samples=10000000000", "10000000"],
    "run=RUN eval.lengths.0=5": ["eval.lengths", "list[int]"],
    "run=RUN 'eval.lengths=${foo}'": ["eval.lengths", "'foo'"],
    "run=RUN eval.second=[3]": ["eval.second=[3]", "null"],
    "run=RUN encoding.max_length=100": ["encoding.max_length", "no such key"],
    "run=RUN encoding.parts.0.max_length=5": ["encoding.parts", "no such key"],
    "run=RUN positions.draws=2": ["positions.draws", "no such key"],
    "run=RUN trainer.accelerator=tpu": ["trainer.accelerator=tpu", "cpu, gpu"],
    "run=RUN --foo": ["'--foo'", "key=value"],
    "run=RUN seed=1": ["seed", "belongs to training"],
}
SHOW = {
    "task=coppy": ["task=coppy", "'copy'"],
    "task=copy length=0": ["length=0", "a length of copy"],
    "task=copy length=abc": ["length=abc", "a length of copy"],
    "task=copy length=2000": ["length=2000", "at most 1000"],
    "task=copy seed=-1": ["seed=-1", "between 0"],
    "task=file task.path=/no": ["task.path=/no", "name a file"],
    "task=copy 'seed=(1'": ["'seed=(1'", "key=value"],
    "encoding=rope length=1e3": ["length=1e3", "number of tokens"],
    "encoding=rope length=1": ["length=1", "from 8 to"],
    "encoding=rope out=/dev/null": ["out=/dev/null", "name a folder"],
    "encoding=rope model.heads=5": ["model.heads=5", "divisible"],
    "length=5": ["length=5", "from 8 to"],
    "=5": ["'=5'", "key=value"],
    "--foo": ["'--foo'", "key=value"],
    "prompt=the": ["run=", "missing"],
    "run=/no prompt=the": ["run=/no", "there is no run"],
    "run=RUN": ["prompt=", "missing"],
    "run=RUN prompt=xyz": ["'xyz'", "the bit dog"],
    "run=RUN prompt=the": ["prompt", "no answer", "'the dog bit"],
    "run=RUN prompt=the seed=3": ["seed", "belongs to training"],
}
REPORT = {
    "/no/such": ["/no/such", "name one that holds runs"],
    "/etc/passwd": ["/etc/passwd", "results.csv"],
    "EMPTY": ["no finished run below", "train one"],
    "OUTPUTS --baseline": ["--baseline", "expected one argument", "--help"],
    "OUTPUTS --baseline foo": ["--baseline 'foo'", "sinusoidal"],
    "OUTPUTS --format html,,md": ["--format html,,md", "csv"],
    "OUTPUTS --foo": ["--foo", "--help"],
    "OUTPUTS --out /dev/null/x": ["--out /dev/null/x", "name a place"],
    "run=OUTPUTS": ["run=", "there is no such folder"],
}
STATUS = {
    "/no/such": ["/no/such", "name one that holds runs"],
    "OUTPUTS --format csv": ["--format", "'csv'", "table", "--help"],
    "OUTPUTS --watch=3": ["--watch", "'3'", "--help"],
    "OUTPUTS --foo": ["--foo", "--help"],
}
MISTAKES = {
    "train.py": TRAIN | TRAIN_BUILDING,
    "scripts/evaluate.py": EVALUATE,
    "scripts/show.py": SHOW,
    "scripts/report.py": REPORT,
    "scripts/status.py": STATUS,
}
SECONDS = 10
"""At most; where nobody else is busy it takes a third of them."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outputs = tmp_path_factory.mktemp("outputs")
    assert run(*TINY, f"outputs={outputs}").code == 0
    return outputs


def spelled(script: str, mistake: str, trained: Path, tmp_path: Path) -> list[str]:
    """The arguments, with paths of this test."""
    (tmp_path / "empty").mkdir(exist_ok=True)
    paths = {"OUTPUTS": trained, "RUN": only_run(trained), "EMPTY": tmp_path / "empty"}
    for word, path in paths.items():
        mistake = mistake.replace(word, str(path))
    own = [f"outputs={tmp_path / 'outputs'}"] if script == "train.py" else []
    return [*own, *shlex.split(mistake)]


def assert_told(ended: Ended, parts: list[str], tmp_path: Path) -> None:
    assert ended.code in (1, 2), ended
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    assert len(line) <= SHORT
    for part in parts:
        assert part in line
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


@pytest.mark.parametrize(
    ("script", "mistake"),
    [(script, mistake) for script, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_mistake_gets_one_short_line_and_leaves_nothing(
    script: str, mistake: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    before = sorted(trained.rglob("*"))
    ended = run(*spelled(script, mistake, trained, tmp_path), script=script)
    assert_told(ended, MISTAKES[script][mistake], tmp_path)
    assert sorted(trained.rglob("*")) == before


@pytest.mark.parametrize(
    ("script", "mistake"),
    [("train.py", "seed=-1"), ("train.py", "encoding=cope"), ("train.py", "-m 'seed=range(0)'"),
     ("scripts/evaluate.py", "run=RUN eval.lengths=[2]"), ("scripts/show.py", "run=RUN prompt=xyz"),
     ("scripts/report.py", "/no/such"), ("scripts/status.py", "OUTPUTS --foo")],
)  # fmt: skip
def test_mistake_takes_no_long_wait(script: str, mistake: str, trained: Path, tmp_path: Path):
    """In a process of its own. Its time on a processor is measured: others may be busy, too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = spelled(script, mistake, trained, tmp_path)
    command = [sys.executable, str(PROJECT / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert_told(ended, MISTAKES[script][mistake], tmp_path)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime < SECONDS


def test_no_mistake_is_tried_twice():
    from test_cli import FOUND_BY_BUILDING, TYPED_WRONG

    assert not MISTAKES["train.py"].keys() & (TYPED_WRONG | FOUND_BY_BUILDING).keys()
    assert sum(map(len, MISTAKES.values())) > 100
