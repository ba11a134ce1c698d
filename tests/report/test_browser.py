"""The page in a real browser: reflow, keyboard, contrast, and nothing missing without JavaScript."""

import os
import shutil
from pathlib import Path

import pytest
from fake_results import write
from fake_study import Fake

from poollab.report import html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM and not os.environ.get("POOLLAB_REQUIRE_BROWSER"), reason="there is no Chromium on this machine"
    ),
]

OVERFLOW = """[...document.querySelectorAll('body *')].filter(e =>
  e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, .plate')
).map(e => e.outerHTML.slice(0, 80))"""

#: Text whose contrast with the ground it stands on is under 4.5, by the formula of WCAG 2.
FAINT = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m };
  const linear = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) return c;
    }
    return [255, 255, 255, 1];
  };
  const ratio = e => {
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const written = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  return [...document.querySelectorAll('body *')].filter(e => written(e) && ratio(e) < 4.5).map(e => e.outerHTML);
}"""


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory, templates) -> Path:
    """A page with every notice in it."""
    fake = Fake(capped=False, blocks=2, unmeasured=2, confirmed=False, bad={"heavy-bursts.pool-5.r1": "overloaded"})
    folder = write(tmp_path_factory.mktemp("browser") / "r", fake)
    html.render(folder, templates, folder / "index.html", pdf_available=True)
    return folder / "index.html"


@pytest.fixture
def opened(browser, page_file, request):
    """The page at a width and in a colour scheme, with JavaScript of pages switched off."""
    width, scheme = getattr(request, "param", (1440, "light"))
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=False
    )
    page = context.new_page()
    page.requested = []
    page.on("request", lambda r: page.requested.append(r.url))
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(page_file.as_uri())
    yield page
    context.close()


@pytest.mark.parametrize("opened", [(320, "light"), (768, "light"), (1440, "light")], indirect=True)
def test_page_reflows(opened):
    """At 320, 768 and 1440 pixels nothing but tables and figures in their own regions is wider than the window."""
    assert opened.evaluate(OVERFLOW) == []
    assert opened.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


@pytest.mark.parametrize("opened", [(1024, "light"), (1024, "dark")], indirect=True)
def test_text_stands_out(opened):
    """All text has a contrast of at least 4.5 in light and in dark."""
    assert opened.evaluate(FAINT) == []


def test_nothing_is_requested(opened, page_file):
    """The browser asks for the page itself and for nothing else."""
    assert [url for url in opened.requested if not url.startswith("data:")] == [page_file.as_uri()]


def test_figures_are_drawn(opened):
    """Each figure is decoded and has a size."""
    sizes = opened.evaluate("[...document.images].map(i => i.complete && i.naturalWidth)")
    assert len(sizes) == 9
    assert all(size > 100 for size in sizes)


def test_console_stays_empty(opened):
    """The browser finds nothing to complain of, not even with all details opened."""
    opened.reload()
    opened.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert opened.complaints == []


def test_print_shows_the_numbers_and_hides_the_screen_s_own(opened):
    """In print the skip link and the links to downloads are gone, and the verdict and all tables stay."""
    opened.emulate_media(media="print")
    shown = "e => getComputedStyle(e).display"
    assert opened.eval_on_selector(".skip", shown) == "none"
    assert opened.eval_on_selector(".verdict", shown) != "none"
    assert opened.evaluate("[...document.querySelectorAll('main > section')].every(e => e.offsetHeight > 40)")
    assert opened.evaluate("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_nothing_serious(browser, page_file, width, scheme):
    """axe-core, with all details opened, finds nothing of impact serious or critical in either scheme and width."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # axe itself is a script, so this one context runs scripts; the page has none.
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(page).response
    context.close()
    assert len(found["passes"]) > 20
    serious = [v for v in found["violations"] if v["impact"] in {"serious", "critical"}]
    assert [(v["id"], v["nodes"][0]["html"][:200]) for v in serious] == []


def test_keyboard_comes_first_to_the_skip_link(opened):
    """The first stop of the tab key is the skip link, which comes into view; each scroll region is a stop too."""
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    assert opened.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    regions = opened.evaluate("[...document.querySelectorAll('.scroll, .plate')].map(e => e.tabIndex)")
    assert set(regions) == {0}
