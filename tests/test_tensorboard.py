"""TensorBoard in a browser, as somebody sees it who looks at two runs."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import rows, run, runs
from playwright.sync_api import Page, expect

from posenc.results.terminal import ADDRESS

LIKE_DEFAULT = (
    "trainer.max_steps=40", "trainer.log_every_n_steps=1", "eval.probe_every=5",
    "eval.samples=16", "data.batch_size=8", "optimizer.lr=0.002",
    "trainer.enable_progress_bar=false",
)  # fmt: skip
"""As many figures, and as large pictures, as a default run leaves, in less time."""
SETUPS = (
    ("encoding=learned",),
    ("task=copy", "model=decoder", "encoding=alibi", "length.test=40", "eval.lengths=[5,20,40]"),
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tensorboard")
    for setup in SETUPS:
        ended = run(*LIKE_DEFAULT, *setup, f"outputs={folder}")
        assert ended.code == 0, ended.err
        assert f"\n            {ADDRESS}\n" in ended.out
    return folder


@pytest.fixture(scope="module")
def server(outputs: Path) -> Iterator[str]:
    """The address at which TensorBoard shows them."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(outputs), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(found for line in process.stderr if (found := re.search(r"http://\S+/", line)))
        yield said[0]
        process.terminate()


@pytest.fixture
def at(page: Page, server: str) -> Callable[[str], Page]:
    """(what follows the name of the server) -> the page that is there."""

    def open_at(where: str) -> Page:
        page.goto(server + where)
        return page

    return open_at


def names(outputs: Path) -> list[str]:
    """What the runs are called: their folders."""
    return [str(folder.relative_to(outputs)) for folder in runs(outputs)]


def test_the_printed_address_opens_on_unbent_length_curves_of_all_runs(
    at: Callable[[str], Page], outputs: Path
) -> None:
    page = at(ADDRESS.removeprefix("http://localhost:6006/"))
    first = page.locator("card-view").first
    expect(first).to_contain_text("length_generalization/exact")
    expect(first).to_be_in_viewport(ratio=1)
    for folder, name in zip(runs(outputs), names(outputs), strict=True):
        expect(first).to_contain_text(name)
        words, last = first.inner_text().split(), rows(folder / "lengths.csv")[-1]
        value, length = words[words.index(name) + 1 :][:2]
        assert length == last["length"]
        assert float(value) == pytest.approx(float(last["exact"]), abs=1e-3)
    assert "Smoothed" not in first.inner_text()


def test_a_newcomer_sees_them_too_and_smoothed(at: Callable[[str], Page]) -> None:
    first = at("").locator("card-view").first
    expect(first).to_contain_text("length_generalization/exact")
    expect(first).to_be_in_viewport(ratio=1)
    expect(first.get_by_text("Smoothed").first).to_be_visible()


def test_custom_charts_show_training_and_lengths(at: Callable[[str], Page]) -> None:
    page = at("#custom_scalars")
    expect(page.get_by_text("exact match at lengths in range and beyond")).to_be_visible()
    expect(page.get_by_text("by length (set Smoothing to 0)")).to_be_visible()
    # Three lengths in range and beyond of one run, two of the other; two losses; ...
    for lines, charts in ((5, 1), (4, 1), (2, 2)):
        expect(page.get_by_text(f"Matches ({lines})")).to_have_count(charts)


def test_the_table_of_runs_has_a_row_for_each_with_settings_and_outcome(
    at: Callable[[str], Page], outputs: Path
) -> None:
    cells = at("#hparams").locator("vaadin-grid-cell-content")
    for column in ("encoding", "model", "task", "optimizer.lr", "outcome/holds_to",
                   "outcome/in_range_exact", "outcome/score", *names(outputs)):  # fmt: skip
        expect(cells.get_by_text(column, exact=True)).to_have_count(1)
    expect(cells.get_by_text("0.0020000")).to_have_count(2)


def test_parallel_coordinates_have_a_line_for_each_run(at: Callable[[str], Page]) -> None:
    page = at("#hparams")
    page.get_by_text("Parallel Coordinates View").click()
    plot = page.locator("tf-hparams-parallel-coords-plot")
    expect(plot.locator(".foreground path")).to_have_count(2)
    for name in ("alibi", "learned", "outcome/score"):
        expect(plot.locator("svg").get_by_text(name)).to_be_visible()


def test_pictures_are_there(at: Callable[[str], Page]) -> None:
    page = at("#images")
    for name, number in (("by_length", 2), ("by_place", 1), ("encoding_bias", 1),
                         ("encoding_table", 1), ("layer1_attention", 2)):  # fmt: skip
        expect(page.get_by_text(f"tag: views/{name}")).to_have_count(number)
    picture = page.locator("tf-image-loader img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 400


def test_result_samples_and_settings_are_texts(at: Callable[[str], Page]) -> None:
    page = at("#text")
    expect(page.get_by_text("holds to").first).to_be_visible()
    page.get_by_role("button", name="settings").click()
    for name in ("result", "samples", "settings"):
        expect(page.get_by_text(f"tag: {name}/text_summary")).to_have_count(2)
    marks = page.locator("td").filter(has_text=re.compile("^(right|wrong)$"))
    expect(marks).to_have_count(20)
    expect(page.get_by_text("max_steps: 40").first).to_be_attached()


def test_a_run_is_one_small_file(outputs: Path) -> None:
    for folder in runs(outputs):
        (file,) = folder.glob("events.out.tfevents.*")
        assert file.stat().st_size < 300_000
