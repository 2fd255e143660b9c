"""A checked answer in a real browser: no text in it runs, and its footnotes lead to the marked passage."""

import nbformat
import pytest

from ragkit.citations import render_html, verify_citations
from ragkit.context import Context
from tests.browser.harness import open_and_run
from tests.citations.judges import WordJudge

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EVIL = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'><a href='javascript:window.ran = 1'>x</a>"
ANSWER = f"The fox is red [1]. The last dog sleeps [1]. {EVIL} [2] [7]"
MARK_IN_VIEW = """mark => {
  const box = mark.getBoundingClientRect(), frame = mark.closest('.rk-document').getBoundingClientRect();
  return box.height > 0 && box.top >= frame.top - 2 && box.bottom <= frame.bottom + 2
         && box.top >= 0 && box.bottom <= innerHeight;
}"""


@pytest.fixture
def page_source():
    filler = "Some words stand between the two. " * 150
    context = Context.from_texts(f"The fox is red. {EVIL} {filler} The last dog sleeps.", f"Other {EVIL}")
    return render_html(ANSWER, verify_citations(ANSWER, context, judge=WordJudge()), context)


def follow_the_second_footnote(page):
    mark = page.locator(".rk-answer mark").nth(1)
    assert mark.inner_text() == "The last dog sleeps"
    assert not mark.evaluate(MARK_IN_VIEW)
    link = page.locator(".rk-text a").nth(1)
    assert link.inner_text() == "[1]"
    link.click()
    page.wait_for_timeout(300)
    assert mark.evaluate(MARK_IN_VIEW)


def check_that_nothing_ran(page):
    assert EVIL in page.locator(".rk-text").inner_text()  # shown as the characters it consists of
    assert page.evaluate("() => window.ran") is None
    assert page.locator(".rk-answer img, .rk-answer script").count() == 0
    assert page.locator(".rk-text a").evaluate_all("links => links.map(link => link.hash.startsWith('#rk-'))") == [
        True, True, True]


def test_on_a_plain_page(browser, page_source, tmp_path):
    path = tmp_path / "answer.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'>{page_source}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 600})
    page.goto(path.as_uri())
    check_that_nothing_ran(page)
    follow_the_second_footnote(page)
    page.close()


def test_in_jupyterlab(browser, lab_server, page_source):
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "ragkit", "display_name": "ragkit"}})
    notebook.cells = [nbformat.v4.new_code_cell(f"from IPython.display import HTML\nHTML({page_source!r})")]
    nbformat.write(notebook, lab_server.folder / "footnotes.ipynb")
    context = browser.new_context(viewport={"width": 1400, "height": 700})
    opened = open_and_run(context, lab_server, "footnotes.ipynb")
    assert opened.errors() == []
    check_that_nothing_ran(opened.page)
    follow_the_second_footnote(opened.page)
    opened.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    context.close()
