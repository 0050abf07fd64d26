"""The report in a real browser: no requests or errors, tables that sort and filter, and visible figures."""

import shutil

import numpy as np
import pytest
from helpers.outcomes import created, failed, table

from orfit_bench.report.results_page import results_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
HOSTILE = '<script>document.title = "taken"</script><img src="https://example.invalid/x.png">'
FIRST = "table.sortable"

pytestmark = [pytest.mark.integration, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A report of ten methods on two backends, one of which failed for a hostile reason."""
    errors = np.random.default_rng(0).uniform(0.1, 9, 10)
    errors[:2] = np.inf
    names = ("lms", "nlms", "rls", "sgd", "apa", "icl", "ogd", "orfit", "greedy", "kalman")
    cells = [
        created(name, backend, test_error=e, seconds_per_sample=s * e, deviation=np.nan if name == "ogd" else 1e-15)
        for name, e in zip(names, errors, strict=True)
        for backend, s in (("numpy", 1e-4), ("numba", 1e-6))
    ]
    path = tmp_path_factory.mktemp("report") / "r.html"
    path.write_text(results_page(table([*cells, failed("owm", HOSTILE)])), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    """The system's browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, file):
    """Open the report; asserts at the end of the test that there was no request and no error."""
    contexts, reported = [], []

    def open_page(**options):
        contexts.append(context := browser.new_context(**options))
        page = context.new_page()
        page.on("console", lambda message: reported.append(message.text))
        page.on("pageerror", lambda error: reported.append(str(error)))
        page.on("request", lambda request: reported.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert reported == []


def column(page, k):
    """The strings in a column of the first table, for visible rows."""
    rows = f"[...document.querySelector('{FIRST}').tBodies[0].rows]"
    return page.evaluate(f"{rows}.filter(row => !row.hidden).map(row => row.cells[{k}].textContent)")


def values(texts):
    return [float(text) for text in texts if text not in ("n/a", "failed")]


def test_sorts_by_click_and_key(opened):
    page = opened()
    heading = page.locator(f"{FIRST} th", has_text="test RMSE")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = column(page, 3)
    assert len(up) == 21
    assert values(up) == sorted(values(up))
    assert up[-1] == "failed"
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    down = column(page, 3)
    assert values(down) == sorted(values(down), reverse=True)
    assert down[-1] == "failed"  # missing values are last in both orders
    page.locator(f"{FIRST} th", has_text="method").first.locator("button").click()
    assert column(page, 0) == sorted(column(page, 0))
    assert page.locator(f"{FIRST} th[aria-sort]").count() == 1


def test_filters_by_words(opened):
    page = opened()
    box = page.locator("input[type=search]").first
    box.fill("RLS numba")
    assert column(page, 0) == ["rls"]
    assert page.locator("output").first.text_content() == "1 of 21 rows"
    box.fill("no such thing")
    assert column(page, 0) == []
    box.fill("")
    assert len(column(page, 0)) == 21


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_figure_is_there_and_seen_against_the_page(opened, scheme):
    page = opened(color_scheme=scheme)
    boxes = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBBox()).map(b => [b.width, b.height])"
    )
    assert len(boxes) == 4
    assert all(width > 200 and height > 100 for width, height in boxes)
    texts = page.evaluate("[...document.querySelectorAll('figure svg text')].map(t => t.getBBox().width)")
    assert len(texts) > 50
    assert all(width > 0 for width in texts)
    style = "getComputedStyle(document.querySelector"
    ink, ground = page.evaluate(f"[{style}('figure svg text')).fill, {style}('body')).backgroundColor]")
    light = [sum(map(int, colour[4:-1].split(","))) / 3 for colour in (ink, ground)]
    assert abs(light[0] - light[1]) > 150
    assert (light[1] < 128) == (scheme == "dark")


def test_a_phone_scrolls_tables_and_never_the_page(opened):
    page = opened(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    scrolls = page.evaluate(
        "[...document.querySelectorAll('.listing .scroll')].some(s => s.scrollWidth > s.clientWidth)"
    )
    assert scrolls


def test_a_phone_keeps_the_first_column_in_sight(opened):
    page = opened(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    left = (
        f"(() => {{ const table = document.querySelector('{FIRST}'); table.parentElement.scrollLeft = 200; "
        "return [0, 1].map(k => table.tBodies[0].rows[0].cells[k].getBoundingClientRect().left); })()"
    )
    first, second = page.evaluate(left)
    assert 0 <= first < 40
    assert second < first + 40, "the second column has moved below the first"


def test_print_shows_complete_tables_without_their_controls(opened):
    page = opened()
    page.emulate_media(media="print")
    assert not page.locator("input[type=search]").first.is_visible()
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(s => getComputedStyle(s).overflow !== 'visible').length"
    )
    assert cut == 0
    assert page.pdf()[:4] == b"%PDF"


def test_all_is_read_without_scripts(opened):
    page = opened(java_script_enabled=False)
    assert page.locator(f"{FIRST} >> nth=0 >> tbody tr").count() == 21
    assert page.locator("button, input").count() == 0


def test_a_hostile_reason_is_text(opened):
    page = opened()
    assert page.title() == "Comparison of streaming learners"
    assert page.locator("td", has_text=HOSTILE).count() == 1
    assert page.locator("td script, td img").count() == 0
