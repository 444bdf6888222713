"""What a user sees who mistypes, asks for help, or starts the program from somewhere else."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import TINY, only_run, run, runs, status
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

import posenc
from posenc import cli
from posenc.choosing import CONFIGS, PROJECT, choices
from posenc.explaining import EXTRAS

GROUPS = sorted(path.name for path in CONFIGS.iterdir() if path.is_dir())

# Arguments, and what the one line of the answer must hold: the key, the value, the remedy.
TYPED_WRONG = {
    "lenght.test=4": ["lenght.test", "'length'"],
    "length.tset=4": ["length.tset", "test"],
    "+encdoing=rope": ["encdoing", "encoding"],
    "++sede=1": ["sede", "seed"],
    "trainer.max_step=5": ["trainer.max_step", "max_steps"],
    "+trainer.foo=5": ["trainer.foo", "max_steps"],
    "++encoding.bsae=2": ["encoding.bsae", "base"],
    "encoding=sinusoidal encoding.max_length=5": ["encoding.max_length", "configs/"],
    "~length.min": ["length.min", "missing"],
    "~task": ["task", "missing"],
    "encoding=rpoe": ["encoding=rpoe", "'rope'", "--help lists all"],
    "encoding=": ["encoding=", "--help lists all"],
    "encoding=null": ["encoding=null", "--help lists all"],
    "encoding=2": ["encoding=2", "--help lists all"],
    "model=foo": ["model=foo", "encoder", "decoder"],
    "logger=null": ["logger=null", "tensorboard"],
    "experiment=paritty": ["experiment=paritty", "'parity'", "--help"],
    "hydra/launcher=foo": ["hydra/launcher=foo", "basic"],
    "encoding=learned,none": ["encoding=learned,none", "-m"],
    "task='copy,reverse'": ["task=copy,reverse", "-m"],
    "seed=0,1": ["seed=0,1", "-m"],
    "-m seed=0,1 --foo": ["--foo", "--help"],
    "--cfg foo": ["--cfg", "'foo'", "'job'"],
    "--seed=3": ["--seed=3", "write seed=3"],
    "--model.width 32": ["--model.width", "write model.width=VALUE"],
    "seed=range(3)": ["seed=range(3)", "-m"],
    "encoding=[rope,none]": ["encoding=", "-m"],
    "seed": ["'seed'", "key=value"],
    "=5": ["'=5'", "key=value"],
    "a=b=c": ["'a=b=c'", "key=value"],
    "outputs=/tmp/é": ["outputs=/tmp/é", '''"outputs='/tmp/é'"'''],
    "+seed=3": ["+seed=3", "write seed=3"],
    "+encoding=rope": ["+encoding=rope", "write encoding=rope"],
    "~eval.lengths": ["~eval.lengths", "write eval.lengths="],
    "~encoding=foo": ["~encoding", "write encoding="],
    "model=???": ["model=???", "write model="],
    "seed=???": ["seed=???", "int"],
    "positions=random positions.at_eval=???": ["positions.at_eval", "missing"],
    "model={foo:5}": ["model.foo", "heads"],
    "length=[1,2]": ["length=[1,2]", "min, train, test"],
    "SEED=3": ["SEED", "'seed'"],
    "hydra=null": ["hydra=null", "leave it out"],
    "hydra.foo=3": ["hydra.foo", "--cfg hydra"],
    "hydra.verbose=5": ["hydra.verbose=5", "leave it out"],
    "hydra.job.chdir=maybe": ["hydra.job.chdir=maybe", "bool"],
    "hydra.job.chdir=true": ["hydra.job.chdir=true", "leave it out"],
    "hydra.sweeper.max_batch_size=1": ["hydra.sweeper.max_batch_size=1", "leave it out"],
    "optimizer.betas={a:1}": ["optimizer.betas={a:1}", "list[float]"],
    "optimizer.betas=[0.9,{a:1}]": ["optimizer.betas=[0.9, {'a': 1}]", "list[float]"],
    "eval.lengths=[[5]]": ["eval.lengths=[[5]]", "list[int]"],
    "eval.lengths=[5,500]": ["eval.lengths=[5, 500]", "length.test=500"],
    "outputs=": ["outputs=", "folder"],
    "model.width=abc": ["model.width=abc", "int"],
    "model.width=64.0": ["model.width=64.0", "int"],
    "encoding.base=abc": ["encoding.base=abc", "float"],
    "eval.lengths=[a]": ["eval.lengths=['a']", "list[int]"],
    "seed=${sede}": ["seed:", "'sede'"],
    "model.width=30": ["model.width=30", "model.heads=4", "divisible"],
    "length.test=10": ["length.test=10", "length.train=20"],
    "trainer.max_steps=0": ["trainer.max_steps=0", "between 1 and"],
    "launcher=foo": ["launcher=foo", "joblib", "slurm"],
    "launcher=joblib": ["launcher=joblib", "-m"],
    "sweeper=optuna": ["sweeper=optuna", "-m"],
    "~launcher": ["launcher", "missing"],
    "launcher.jobs=0": ["launcher.jobs=0", "whole number"],
    "launcher.job=2": ["launcher.job", "'jobs'"],
    "launcher.minutes=5": ["launcher.minutes", "launcher=slurm"],
    "launcher.jobs=2": ["launcher.jobs=2", "launcher=joblib"],
    "sweeper.trials=5": ["sweeper.trials", "sweeper=optuna"],
    "threads=many": ["threads=many", "int"],
    "encoding._target_=os.system": ["encoding._target_=os.system", "posenc.encodings."],
}
FOUND_BY_BUILDING = {
    "length.min=2 length.train=4": ["length.min=2", "length.train=4", "who_bit_whom", "5"],
    "encoding=learned encoding.max_length=16": ["encoding.max_length=16", "learned", "101"],
    "encoding=learned positions=random": ["encoding.max_length=512", "positions=random", "2048"],
    "encoding=rope model.width=10 model.heads=2": ["model.width=10", "model.heads=2", "even"],
    "positions=random positions.at_eval=foo": ["positions.at_eval=foo", "resample", "even"],
    "model.width=65536 model.layers=4096": ["model.width=65536", "memory"],
    "task=copy task.unique=true task.symbols=30": ["task.symbols=30", "task.symbols=100"],
    "eval.lengths=[3]": ["eval.lengths", "who_bit_whom", "3"],
    "outputs=/proc/none": ["outputs", "/proc/none"],
}


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return tmp_path / "outputs"


@pytest.mark.parametrize("mistake", [*TYPED_WRONG, *FOUND_BY_BUILDING])
def test_mistake_gets_one_line_and_exit_code_2_and_leaves_nothing(mistake: str, outputs: Path):
    ended = run(f"outputs={outputs}", *shlex.split(mistake))
    assert ended.code == 2
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    for part in (TYPED_WRONG | FOUND_BY_BUILDING)[mistake]:
        assert part in line
    assert not outputs.exists()


@pytest.mark.parametrize(
    ("given", "extra"),
    [("launcher=joblib", "sweep"), ("launcher=ray", "cluster"), ("launcher=slurm", "cluster"),
     ("launcher=slurm_local", "cluster"), ("sweeper=optuna", "tune")],
)  # fmt: skip
def test_missing_launcher_names_the_extra_that_brings_it(
    given: str, extra: str, monkeypatch: pytest.MonkeyPatch, outputs: Path
):
    Plugins.instance()  # which puts them into the store
    stored = ConfigStore.instance().repo["hydra"]
    for group in ("launcher", "sweeper"):
        for name in EXTRAS:
            monkeypatch.delitem(stored[group], f"{name}.yaml", raising=False)
    ended = run("-m", f"outputs={outputs}", given)
    assert ended.code == 2
    assert ended.err.splitlines()[-1].endswith(f"-e '.[{extra}]' brings it")
    assert not outputs.exists()


def test_one_line_names_all_extras_that_a_command_lacks(
    monkeypatch: pytest.MonkeyPatch, outputs: Path
):
    Plugins.instance()
    stored = ConfigStore.instance().repo["hydra"]
    for group, name in (("launcher", "joblib"), ("sweeper", "optuna")):
        monkeypatch.delitem(stored[group], f"{name}.yaml", raising=False)
    for tuned in ("experiment=tune", "sweeper=optuna"):
        ended = run("-m", f"outputs={outputs}", tuned, "launcher=joblib")
        assert ended.code == 2
        assert "launcher=joblib" in ended.err
        assert "sweeper=optuna" in ended.err
        assert ended.err.endswith("-e '.[tune,sweep]' brings both\n")


def test_neither_mistakes_nor_help_wait_for_torch():
    program = (
        "import sys\n"
        "from posenc.cli import main\n"
        f"commands = {[(shlex.split(mistake), 2) for mistake in TYPED_WRONG]}\n"
        "for arguments, code in [*commands, (['--help'], 0)]:\n"
        "    sys.argv = ['train.py', *arguments]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        assert end.code == code, (arguments, end.code)\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_version_is_all_that_is_printed():
    assert run("--version") == (0, f"posenc {posenc.__version__}\n", "")


def test_several_runs_may_be_asked_for_anywhere_in_the_command(outputs: Path):
    ended = run(*TINY, f"outputs={outputs}", "seed=0,1", "-m", "model.layers=1")
    assert ended.code == 0
    assert len(runs(outputs)) == 2


def test_help_lists_every_choice_every_default_and_three_commands_that_work(configured):
    ended = run("--help")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    whole = ended.out.replace("\n    ", " ")
    for group in GROUPS:
        assert f"{group}: {', '.join(choices(group))}" in whole
    for default in ("  base: 10000.0", "  max_steps: 2000", "seed: 0", "  test: 100"):
        assert default in lines
    assert max(map(len, lines)) <= 100
    examples = [line.split("train.py ")[1] for line in lines if "python train.py " in line]
    assert len(examples) == 3
    for example in examples:
        configured(*re.sub(r"^-m|,\S+", "", example).split())


def test_broken_run_exits_with_1_and_points_to_the_traceback(outputs: Path):
    ended = run(*TINY, f"outputs={outputs}", "optimizer.lr=1e30", "trainer.log_every_n_steps=1")
    assert ended.code == 1
    folder = only_run(outputs)
    line = ended.err.splitlines()[-1]
    assert line.startswith("error: FloatingPointError")
    assert "optimizer.lr" in line
    assert str(folder) in line
    kept = status(folder)
    assert kept["status"] == "failed"
    assert kept["traceback"].startswith("Traceback")
    assert "FloatingPointError" in kept["traceback"]
    assert "FloatingPointError" in (folder / "train.log").read_text()


def test_ctrl_c_before_a_run_has_begun_exits_with_130(monkeypatch: pytest.MonkeyPatch):
    def interrupted(raw: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "load", interrupted)
    ended = run()
    assert ended.code == 130
    assert "Traceback" not in ended.err


def test_relative_outputs_belong_to_the_caller_and_nothing_else_is_left_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert run(*TINY, "outputs=mine").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["who_bit_whom"]


def test_runs_land_under_the_project_wherever_the_program_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured
):
    monkeypatch.chdir(tmp_path)
    assert Path(configured("seed=41").outputs) == PROJECT / "outputs"
