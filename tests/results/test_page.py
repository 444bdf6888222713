"""The report as a page: what it holds, and what it does in a browser."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from playwright.sync_api import Locator, Page

from posenc.results.document import Cell, Document, Section, Table
from posenc.results.labels import METRICS
from posenc.results.page import PARTS
from posenc.results.page import page as written
from posenc.results.panels import panels
from posenc.results.reading import Found, read
from posenc.results.report import document

Planted = Callable[..., list[dict[str, Any]]]
Read = Callable[..., Found]
WriteRun = Callable[..., Path]

GOOD = {5: 1.0, 20: 1.0, 25: 0.9, 40: 0.4}
BETTER = {5: 1.0, 20: 1.0, 25: 1.0, 40: 0.8}
UNFITTED = {5: 0.5, 20: 0.5, 25: 0.5, 40: 0.5}
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def html(planted: Planted, write_run: WriteRun, tmp_path: Path) -> Path:
    """A report on two tasks, beside the runs that it is about."""
    for seed in range(3):
        own = {"seed": seed, "fingerprint": "f0"}
        write_run(planted(BETTER, encoding="alibi", **own))
        write_run(planted(GOOD, **own))
        write_run(planted(UNFITTED if seed else GOOD, encoding="no #?%", **own))
        write_run(planted(GOOD, task="copy", token_accuracy=0.97, **own))
    place = tmp_path / "report.html"
    told = document(read([tmp_path / "outputs"]))
    place.write_text(written(told, beside=tmp_path), encoding="utf-8")
    return place


@pytest.fixture
def opened(page: Page, html: Path) -> Page:
    """The report in a browser that can reach nothing but files, and whose console stays empty."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url) if request.url != html.as_uri()
            and not request.url.startswith("data:") else None)  # fmt: skip
    show(page, html)
    assert not said
    return page


def show(page: Page, html: Path) -> None:
    page.goto(html.as_uri())
    ready(page)


def ready(page: Page) -> None:
    page.wait_for_selector("body[data-drawn=yes]")


def first_chart(page: Page) -> str:
    return page.locator(".chart svg").first.inner_html()


def lines(page: Page) -> list[tuple[str | None, str | None]]:
    """Colour and opacity of the lines of the last chart."""
    found = page.locator(".chart").last.locator(".mark-line path[stroke-width]")
    return [(path.get_attribute("stroke"), path.get_attribute("opacity")) for path in found.all()]


def centre(mark: Locator) -> tuple[float, float]:
    box = mark.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_charts_are_drawn_for_every_panel(opened: Page) -> None:
    assert opened.locator(".chart svg").count() == 2
    chart = opened.locator(".chart").last
    assert chart.locator(".mark-line path").count() == 5  # two fits of one, chance, two others
    assert chart.locator(".mark-area path").count() >= 2
    assert {"length", "exact match"} <= set(chart.locator(".role-axis-title").all_text_contents())


def test_an_encoding_is_seen_alone_by_click_and_by_key(opened: Page) -> None:
    before = lines(opened)
    key = opened.get_by_role("button", name="alibi")
    key.click()
    opened.wait_for_timeout(100)
    assert key.get_attribute("aria-pressed") == "true"
    faded = [colour for colour, opacity in lines(opened) if opacity and float(opacity) < 0.1]
    assert len(faded) == 3
    opened.keyboard.press("Escape")
    opened.wait_for_timeout(100)
    assert lines(opened) == before
    assert key.get_attribute("aria-pressed") == "false"

    key.focus()
    opened.keyboard.press("Tab")
    opened.keyboard.press("Enter")
    opened.wait_for_timeout(100)
    assert opened.locator(".key[aria-pressed=true]").count() == 1
    assert lines(opened) != before
    assert "is shown" in opened.get_by_role("status").inner_text()
    opened.keyboard.press("Enter")
    opened.wait_for_timeout(100)
    assert lines(opened) == before


@pytest.mark.parametrize("metric", ["bits", "token_accuracy"])
def test_a_page_opens_on_the_metric_that_is_asked_for(
    metric: str, page: Page, planted: Planted, found: Read, tmp_path: Path
) -> None:
    """Answers of one token have no token accuracy of their own; who asks for it gets it."""
    place = tmp_path / "report.html"
    told = document(found(planted(GOOD)), metric=metric)
    place.write_text(written(told, beside=tmp_path))
    show(page, place)
    assert METRICS[metric] in first_chart(page)


@pytest.mark.parametrize(("longest", "axis"), [(200, "linear"), (201, "logarithmic")])
def test_far_lengths_open_on_a_logarithmic_axis(
    longest: int,
    axis: str,
    planted: Callable[..., list[dict[str, Any]]],
    found: Callable[..., Found],
    page: Page,
    tmp_path: Path,
) -> None:
    told = document(found(planted({5: 1.0, 20: 1.0, longest: 0.6})))
    (tmp_path / "report.html").write_text(written(told, beside=tmp_path))
    show(page, tmp_path / "report.html")
    assert page.get_by_role("radio", name=axis).is_checked()


def test_an_isolated_encoding_stays_so_when_the_chart_is_drawn_anew(opened: Page) -> None:
    opened.get_by_role("button", name="alibi").click()
    opened.get_by_label("logarithmic").check()
    ready(opened)
    assert any(opacity and float(opacity) < 0.1 for _, opacity in lines(opened))


def test_metric_and_axis_can_be_chosen(opened: Page) -> None:
    exact = first_chart(opened)
    opened.get_by_label("loss").check()
    ready(opened)
    assert "loss, bits a token" in first_chart(opened)
    assert ">chance<" not in first_chart(opened)
    opened.get_by_label("token accuracy").check()
    ready(opened)
    assert "token accuracy" in first_chart(opened)
    opened.get_by_label("exact match").check()
    ready(opened)
    assert first_chart(opened) == exact
    opened.get_by_label("logarithmic").check()
    ready(opened)
    assert first_chart(opened) != exact
    axis = opened.locator(".chart").first.locator(".role-axis-label").first
    assert axis.locator("text").all_text_contents().count("20") == 1


def test_a_dot_leads_to_the_folder_of_its_run(opened: Page, html: Path) -> None:
    opened.get_by_role("button", name="no #?%").click()
    opened.wait_for_timeout(100)
    chart = opened.locator(".chart").last
    chart.scroll_into_view_if_needed()
    dot = chart.locator(".mark-symbol").last.locator("path[aria-label*='no #?%; seed: 2']").last
    middle = centre(dot)
    opened.mouse.move(*middle)
    told = opened.locator("#vg-tooltip-element").inner_text()
    assert "no #?%" in told
    assert "not fitted" in told
    opened.mouse.click(*middle)
    opened.wait_for_url("**/seed*/")
    folder = Path(unquote(urlparse(opened.url).path))
    assert (folder / "lengths.csv").exists()
    assert folder.parent.name == "encoder-no #?%-index"
    assert folder.name.startswith("seed2")


def test_a_pointer_on_a_line_is_told_its_mean_and_interval(opened: Page) -> None:
    chart = opened.locator(".chart").last
    chart.scroll_into_view_if_needed()
    unseen = chart.locator(".mark-symbol").nth(-2).locator("path").last
    x, y = centre(unseen)
    opened.mouse.move(x, y + 6)
    told = opened.locator("#vg-tooltip-element").inner_text()
    for word in ("encoding", "length", "mean exact match", "95 % interval", "of 3", "problems"):
        assert word in told


def test_links_of_tables_resolve(opened: Page, html: Path) -> None:
    links = [each.get_attribute("href") or "" for each in opened.locator("td a").all()]
    assert len(links) == 12
    for link in links:
        assert (html.parent / unquote(link) / "run.json").exists()


def column(table: Locator, place: int) -> list[str]:
    return table.locator(f"tbody td:nth-child({place})").all_inner_texts()


def test_tables_sort_with_what_is_missing_last(page: Page, tmp_path: Path) -> None:
    cells = [("b", 2.0), ("a", 10.0), ("c", None), ("d", -1.0)]
    table = Table(
        title="t",
        head=["name", "score"],
        rows=[
            [Cell(name), Cell("–" if score is None else f"{score:g}", score)]
            for name, score in cells
        ],
        foot=[[Cell("chance"), Cell("0.5", 0.5)]],
    )
    told = Document("", "exact", [Section("s", [], [table])], [], [])
    place = tmp_path / "report.html"
    place.write_text(written(told, beside=tmp_path))
    show(page, place)
    head = page.get_by_role("button", name="score")
    for order, expected in (
        ("descending", ["10", "2", "-1", "–"]),
        ("ascending", ["-1", "2", "10", "–"]),
    ):
        head.click()
        assert column(page.locator("table"), 2) == expected
        assert page.locator("th").nth(1).get_attribute("aria-sort") == order
    page.get_by_role("button", name="name").press("Enter")
    assert column(page.locator("table"), 1) == ["a", "b", "c", "d"]
    assert page.locator("th").nth(1).get_attribute("aria-sort") is None
    assert page.locator("tfoot td").first.inner_text() == "chance"


def test_what_files_say_is_shown_and_never_run(
    page: Page, planted: Planted, found: Read, tmp_path: Path
) -> None:
    rows = [
        row for seed in range(2) for row in planted(GOOD, task=HOSTILE, encoding=HOSTILE, seed=seed)
    ]
    place = tmp_path / "report.html"
    place.write_text(written(document(found(rows)), beside=tmp_path))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    show(page, place)
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("h2").first.inner_text()
    page.locator(".key").click()
    assert HOSTILE in page.get_by_role("status").inner_text()
    page.locator(".chart").scroll_into_view_if_needed()
    page.locator(".mark-symbol").last.locator("path").last.hover(force=True)
    assert HOSTILE in page.locator("#vg-tooltip-element").inner_text()
    assert page.locator("img").count() == 0


def test_it_is_read_in_dark_on_paper_and_on_a_telephone(opened: Page) -> None:
    light = opened.screenshot()
    opened.emulate_media(color_scheme="dark")
    assert opened.screenshot() != light
    opened.emulate_media(color_scheme="dark", media="print")
    assert opened.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not opened.get_by_label("logarithmic").is_visible()
    assert opened.locator(".chart svg").first.is_visible()
    opened.set_viewport_size({"width": 700, "height": 1000})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 700
    opened.emulate_media(color_scheme="light", media="screen")
    opened.set_viewport_size({"width": 400, "height": 800})
    opened.reload()
    ready(opened)
    assert opened.evaluate("document.documentElement.scrollWidth") == 400


def test_the_keyboard_comes_first_to_the_skip_link_and_then_everywhere(opened: Page) -> None:
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    buttons = opened.locator("th button, .key").all()
    assert all(button.evaluate("each => each.tabIndex") == 0 for button in buttons)
    assert opened.locator("th").count() == opened.locator("th button").count()
    for landmark in ("main", "navigation", "form", "status"):
        assert opened.get_by_role(landmark).count() >= 1  # type: ignore[arg-type]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (
            each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_words_stand_out_in_light_and_in_dark() -> None:
    style = (PARTS / "page.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in
               style.split("}", 2)[:2]]  # fmt: skip
    for scheme in schemes:
        assert len(scheme) == 6
        for ink in ("ink", "soft", "link"):
            assert min(contrast(scheme[ink], scheme[on]) for on in ("paper", "wash")) >= 4.5


def test_a_thousand_runs_are_less_than_three_megabytes(
    planted: Planted, found: Read, tmp_path: Path
) -> None:
    lengths = (5, 10, 15, 20, 25, 30, 40, 60, 80, 100)
    rows = [
        row
        for task in range(20)
        for encoding in range(10)
        for seed in range(5)
        for row in planted(
            {n: 1 / (1 + max(0, n - 20) * (1 + seed) / (71 + encoding)) for n in lengths},
            task=f"task{task:02}",
            encoding=f"encoding{encoding}",
            seed=seed,
            token_accuracy=0.9,
        )
    ]
    told = document(found(rows))
    assert sum(len(each.runs) for panel in panels(found(rows)) for each in panel.contenders) == 1000
    text = written(told, beside=tmp_path)
    assert len(text.encode()) < 3_000_000
    assert text == written(told, beside=tmp_path)


def test_it_names_no_other_address(html: Path) -> None:
    text = html.read_text()
    page = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(src|href|url)\W+\w+://", page)
    data = json.loads(re.findall(r'<script id="charts"[^>]*>(.*?)</script>', text, re.DOTALL)[0])
    assert "://" not in json.dumps(data).replace("https://vega.github.io/schema", "")
