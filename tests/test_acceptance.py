"""The default job comes out as it should: trained in full, on one core, in about four minutes."""

from dataclasses import asdict
from pathlib import Path
from statistics import median

import pytest
from hydra import compose, initialize_config_dir

from posenc.choosing import CONFIGS
from posenc.results.records import RunFolder
from posenc.run import train
from posenc.schema import load

pytestmark = pytest.mark.slow


@pytest.fixture
def exact(tmp_path: Path):
    """Trains the default job with some overrides -> exact match by length."""

    def run(*overrides: str) -> dict[int, float]:
        quiet = ["trainer.enable_progress_bar=false", "logger=none", f"outputs={tmp_path}"]
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            config = load(compose("train", [*overrides, *quiet]))
        train(config)
        rows = RunFolder.of(asdict(config)).read_rows("lengths.csv")
        return {row["length"]: row["exact"] for row in rows}

    return run


def test_without_an_encoding_an_encoder_is_blind_at_every_length(exact) -> None:
    curve = exact("encoding=none")
    assert list(curve) == [5, 10, 15, 20, 25, 30, 40, 60, 80, 100]
    assert all(0.45 <= value <= 0.55 for value in curve.values())


@pytest.mark.parametrize("encoding", ["sinusoidal", "learned"])
def test_absolute_encodings_fit_and_do_not_extrapolate(exact, encoding: str) -> None:
    curve = exact(f"encoding={encoding}")
    assert curve[20] >= 0.99
    assert curve[60] < 0.8


@pytest.mark.parametrize(
    "overrides",
    [
        ["encoding=alibi"],
        ["encoding=sinusoidal", "positions=random"],
        ["encoding=none", "model=decoder"],
    ],
    ids=" ".join,
)
def test_some_hold_to_five_times_the_trained_length(exact, overrides: list[str]) -> None:
    assert exact(*overrides)[100] >= 0.95


def test_relative_buckets_hold_by_the_median_of_five_seeds(exact) -> None:
    assert median(exact("encoding=t5", f"seed={seed}")[100] for seed in range(5)) >= 0.95
