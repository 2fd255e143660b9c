"""The report page in Chromium: nothing in it runs or is fetched, and it reads well on a phone."""

import pytest

from ragkit.evaluation import compare, evaluate
from ragkit.evaluation.failures import attribute_failures
from ragkit.evaluation.gate import Baseline, check_gate
from ragkit.evaluation.report import comparison_html, report_html
from tests.evaluation.small_questions import SETTINGS, question, small_base, small_questions

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EVIL = "</summary><script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
LONG = "Donau" + "dampfschiff" * 30  # a word that no line holds
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
# Everything that reaches over the right edge of the page, save what lies in a box that scrolls.
OUTSIDE = """() => [...document.body.querySelectorAll('*')].filter(element => !element.closest('.box *')
  && element.getClientRects().length && element.getBoundingClientRect().right > innerWidth + 1)
  .map(element => element.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    questions = [*small_questions(), question("evil", EVIL, "<b>never</b>", ("leave", "28 days of leave a year")),
                 question("long", LONG, LONG, ("cab", "Keep the receipt for thirty days"))]
    kb, strict = small_base(), small_base(min_score=0.95)
    evaluation, worse = evaluate(kb, questions), evaluate(strict, questions)
    comparison = compare({"low": SETTINGS, "high": SETTINGS.replace(min_score=0.95)}, questions, kb=kb, resamples=200)
    texts = {"report": report_html(worse, attribute_failures(worse, strict),
                                   gate=check_gate(worse, Baseline.of(evaluation))),
             "comparison": comparison_html(comparison, {"high": attribute_failures(comparison["high"], strict)})}
    folder = tmp_path_factory.mktemp("pages")
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(params=["report", "comparison"])
def address(request, pages):
    return (pages / f"{request.param}.html").as_uri()


@pytest.fixture
def open_page(browser):
    opened = []

    def open_at(address, viewport):
        page = browser.new_page(viewport=viewport)
        opened.append(page)
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(address)
        return page

    yield open_at
    for page in opened:
        page.close()


def open_everything(page):
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")


@pytest.mark.parametrize("viewport", [PHONE, {"width": 320, "height": 600}, DESK], ids=lambda size: str(size["width"]))
def test_the_page_never_scrolls_sideways(open_page, address, viewport):
    page = open_page(address, viewport)
    open_everything(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate(OUTSIDE) == []


def test_wide_tables_scroll_in_their_own_box_to_the_last_column(open_page, address):
    page = open_page(address, PHONE)
    wide = [box for box in page.locator(".box").all()
            if box.evaluate("box => box.scrollWidth > box.clientWidth + 1")]
    assert wide
    for box in wide:
        box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        assert box.evaluate("box => box.querySelector('tr > :last-child').getBoundingClientRect().right"
                            " <= box.getBoundingClientRect().right + 1")
        assert box.get_attribute("tabindex") == "0"  # a keyboard can scroll it


def test_text_and_pictures_are_large_enough_on_a_phone(open_page, address):
    page = open_page(address, PHONE)
    open_everything(page)
    sizes = page.evaluate("() => [...document.querySelectorAll('p, td, th, dd, dt, summary, figcaption, li')]"
                          ".map(element => parseFloat(getComputedStyle(element).fontSize))")
    assert min(sizes) >= 13
    # Shown smaller than they were drawn, the letters in a picture could not be read.
    for image in page.locator("img").all():
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
        shown = image.evaluate("image => image.getBoundingClientRect().width")
        assert shown == pytest.approx(float(image.get_attribute("width")), rel=0.02)
        assert image.evaluate("image => image.naturalWidth") / shown == pytest.approx(2, rel=0.02)  # sharp


def test_nothing_runs_and_nothing_is_fetched(open_page, address):
    page = open_page(address, DESK)
    open_everything(page)
    assert EVIL in page.locator("body").inner_text()  # shown as the characters it consists of
    assert page.evaluate("() => window.ran") is None and page.locator("script").count() == 0
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.asked if url.startswith("file:")]) == 1 and page.said == []


def test_a_failing_question_opens_at_a_tap(browser, pages):
    context = browser.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto((pages / "report.html").as_uri())
    failing = page.locator("details.failure", has_text="What may a cab ride cost?")
    assert not failing.locator("dl").is_visible()
    failing.locator("summary").tap()
    told = failing.locator("dl").inner_text()
    assert "gold answer\n40 euros" in told and "lost at select\nbelow threshold." in told
    assert "smallest change\nmin_score 0." in told
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_stand_out_from_the_page(browser, pages, scheme):
    """4.5 to 1, as WCAG 2.2 asks for, of the verdict's colour and of the plain text."""
    page = browser.new_page(viewport=PHONE, color_scheme=scheme)
    page.goto((pages / "report.html").as_uri())
    # "Canvas" is what lies behind a page that has no background of its own.
    colours = page.evaluate("""() => { const probe = document.createElement('i'); probe.style.color = 'Canvas';
      document.body.append(probe);
      return [probe, document.querySelector('.red'), document.querySelector('dt'), document.querySelector('thead th')]
        .map(element => getComputedStyle(element)).flatMap((style, place) =>
          place === 3 ? [style.color, style.backgroundColor] : [style.color]); }""")
    behind, red, plain, head, head_behind = map(luminance, colours)
    for one, other in ((red, behind), (plain, behind), (head, head_behind)):
        assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5, colours
    page.close()


def luminance(colour: str) -> float:
    """Relative luminance of "rgb(r, g, b)", as WCAG defines it."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(", ")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055)**2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
