"""The launchers for several machines, as far as one machine can show: workers of their own."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import TINY, run, runs, started, status, wait_until

LONG = (*TINY, "trainer.max_steps=1500", "checkpoint.every=20", "eval.probe_every=1500")
RAY = ("launcher=ray", "hydra.launcher.ray.init.num_cpus=2")

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra [cluster]")
needs_submitit = pytest.mark.skipif(
    find_spec("submitit") is None, reason="needs the extra [cluster]"
)
BOTH = [
    pytest.param(RAY, marks=needs_ray, id="ray"),
    pytest.param(("launcher=slurm_local",), marks=needs_submitit, id="slurm_local"),
]


def processes(name: str, outputs: Path) -> list[int]:
    """Those whose command line holds a name, or whose environment or arguments hold the folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text().replace("\0", " ")
            files = [os.readlink(file) for file in (folder / "fd").iterdir()]
        except OSError:
            continue
        if name in command and any(str(outputs) in file for file in files):
            found.append(int(folder.name))
    return found


@needs_submitit
def test_without_slurm_nothing_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = run("-m", *TINY, f"outputs={tmp_path / 'outputs'}", "seed=0,1", "launcher=slurm")
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert line.startswith("error: launcher=slurm: there is no Slurm on this machine")
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("launcher", BOTH)
def test_workers_give_the_rows_of_one_process(launcher: tuple[str, ...], tmp_path: Path):
    one, several = tmp_path / "one", tmp_path / "several"
    assert run("-m", *TINY, f"outputs={one}", "seed=0,1,2").code == 0
    with started("-m", *TINY, f"outputs={several}", "seed=0,1,2", *launcher, cwd=tmp_path) as sweep:
        assert sweep.wait(timeout=200) == 0
    assert "3 runs: 3 finished" in (tmp_path / "output").read_text()
    for ours, theirs in zip(runs(one), runs(several), strict=True):
        assert ours.relative_to(one) == theirs.relative_to(several)
        assert (ours / "lengths.csv").read_bytes() == (theirs / "lengths.csv").read_bytes()
    with started("-m", *TINY, f"outputs={several}", "seed=0,1,2", *launcher, cwd=tmp_path) as sweep:
        assert sweep.wait(timeout=200) == 0
    assert "3 runs: 3 done already" in (tmp_path / "output").read_text()


@pytest.mark.slow
@needs_ray
def test_run_of_a_worker_that_dies_is_taken_up_by_another(tmp_path: Path):
    outputs = tmp_path / "outputs"
    with started("-m", *LONG, f"outputs={outputs}", "seed=0,1", *RAY, cwd=tmp_path) as sweep:
        wait_until(lambda: len(list(outputs.rglob("last.ckpt"))) == 2, sweep)
        os.kill(processes("ray::", outputs)[0], signal.SIGKILL)
        assert sweep.wait(timeout=200) == 0
    ends = [status(folder) for folder in runs(outputs)]
    assert [end["status"] for end in ends] == ["finished"] * 2
    assert sorted(end["resumed_from"] > 0 for end in ends) == [False, True]


@pytest.mark.slow
@needs_ray
def test_sweep_joins_a_cluster_that_is_there(tmp_path: Path):
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--include-dashboard=false"]
    head = [*ray, "--head", "--num-cpus=1", "--port=6399", "--block"]
    with subprocess.Popen(head, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as cluster:
        try:
            command = ("-m", *TINY, f"outputs={tmp_path}", "seed=0,1", "launcher=ray")
            for _ in range(10):  # until the cluster is there
                with started(*command, "launcher.address=auto", cwd=tmp_path) as sweep:
                    if sweep.wait(timeout=100) == 0:
                        break
        finally:
            cluster.terminate()
    assert "2 runs: 2 finished" in (tmp_path / "output").read_text()


@pytest.mark.slow
@needs_ray
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signal_ends_a_sweep_on_ray(number: int, code: int, tmp_path: Path):
    outputs = tmp_path / "outputs"
    endless = (*LONG, "trainer.max_steps=1000000", f"outputs={outputs}", "seed=0,1,2")
    with started("-m", *endless, *RAY, cwd=tmp_path) as sweep:
        wait_until(lambda: len(list(outputs.rglob("last.ckpt"))) == 2, sweep)
        sweep.send_signal(number)
        assert sweep.wait(timeout=100) == code
    said = (tmp_path / "output").read_text()
    assert "not run  seed=2" in said
    assert "Traceback" not in said


@pytest.mark.slow
@needs_submitit
def test_job_that_is_lost_ends_the_sweep_and_the_same_command_goes_on(tmp_path: Path):
    outputs = tmp_path / "outputs"
    command = ("-m", *LONG, f"outputs={outputs}", "seed=0,1", "launcher=slurm_local")
    with started(*command, cwd=tmp_path) as sweep:
        wait_until(lambda: len(list(outputs.rglob("last.ckpt"))) == 2, sweep)
        for process in processes("submitit", outputs):
            os.kill(process, signal.SIGKILL)
        assert sweep.wait(timeout=200) == 1
    assert "error: the sweep broke off (UncompletedJobError" in (tmp_path / "output").read_text()
    assert [status(folder)["status"] for folder in runs(outputs)] == ["running"] * 2
    with started(*command, cwd=tmp_path) as sweep:
        assert sweep.wait(timeout=200) == 0
    ends = [status(folder) for folder in runs(outputs)]
    assert [end["status"] for end in ends] == ["finished"] * 2
    assert all(end["resumed_from"] > 0 for end in ends)
