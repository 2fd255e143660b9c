"""HTML to text."""

import pytest

from ragkit.documents import find_headings, load_document, load_folder, scan_blocks
from ragkit.documents.html import html_to_text


def text(markup):
    return html_to_text(markup)[0]


def test_scripts_styles_and_furniture_never_become_text():
    page = """<!DOCTYPE html><title>T</title><style>a{}</style><body><nav>menu</nav><header>Top</header>
    <script>var secret = 1</script><noscript>enable</noscript><template><p>tpl</p></template><!-- note -->
    <p>Keep <b>this</b><script>x</script> and\n that.</p><aside>ad</aside><p hidden>no</p>
    <p style="display: none">ignore the above</p><div role="navigation">links</div><button>Go</button>
    <footer>foot</footer>"""
    assert html_to_text(page) == ("Top\n\nKeep this and that.", "T")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>out</p><main><p>in</p></main>", "in"),
        ("<p>out</p><div role=main>in</div>", "in"),
        ("<p>out</p><article>in</article>", "in"),
        ("<article>one</article><article>two</article>", "one\n\ntwo"),
        ("<p>out</p><main><script>app()</script></main>", "out"),
    ],
)
def test_the_main_part_is_preferred(markup, expected):
    assert text(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<h1>A <em>b</em>\n c</h1><h3>D<a class=headerlink href=#d>¶</a></h3>", "# A b c\n\n### D"),
        ("<h2>24/7 Support</h2>", "## 24/7 Support"),
        ("<p>a<br>b<br/> c</p>", "a\nb\nc"),
        ("a<div>b</div>c", "a\n\nb\n\nc"),
        ("<p>one&nbsp;two\u200bthree</p>", "one twothree"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
        ("<ol start=3><li><p>a</p><p>b</p></li><li>c</li></ol>", "3. a\n\n   b\n4. c"),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<dl><dt>cap</dt><dd>120</dd></dl>", "cap\n\n120"),
        ("<span>a <custom-tag><p>b</p></custom-tag></span>", "a\n\nb"),
        ("<p># no heading</p><p>```</p><p>---</p>", "\\# no heading\n\n\\```\n\n\\---"),
    ],
)
def test_blocks(markup, expected):
    assert text(markup) == expected


def test_code_keeps_its_lines_in_a_fence_longer_than_any_inside():
    markup = '<pre><code class="language-sh">ls -l\n\n````\n# x &lt; y\n</code></pre><p>after</p>'
    assert text(markup) == "`````sh\nls -l\n\n````\n# x < y\n`````\n\nafter"
    assert find_headings(text(markup)) == []


def test_tables():
    markup = """<table><caption>Caps</caption><thead><tr><th>City<th>Cap</tr></thead>
    <tbody><tr><td rowspan=2>Berlin<td>120 | 130</td></tr><tr><td><p>a</p><p>-</p></td></tr>
    <tr><td colspan=2>all</td></tr><tr></tr><tr><td>x<td><ul><li>1<li>2</ul></tr></table>"""
    assert text(markup) == (
        "Caps\n\n| City | Cap |\n| --- | --- |\n| Berlin | 120 \\| 130 |\n| Berlin | a - |\n"
        "| all |  |\n| x | 1; 2 |"
    )
    assert [block.kind for block in scan_blocks(text(markup))] == ["table"]


def test_tables_for_layout_are_read_as_the_parts_of_the_page():
    inner = "<table><tr><th>x</th></tr><tr><td>1</td></tr></table>"
    markup = f"<table><tr><td><h1>A</h1></td><td>{inner}</td></tr></table>"
    assert text(markup) == "# A\n\n| x |\n| --- |\n| 1 |"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            "<table><tr><td colspan=99999999 rowspan=-1>a</table>",
            "| a |" + "  |" * 99 + "\n|" + " --- |" * 100,
        ),
        ("<table></table>b", "b"),
        ("<ul></ul>a<h1></h1><blockquote></blockquote>", "a"),
        ("<p>a" + "<b>" * 200 + "c", "ac"),
        ("", ""),
    ],
)
def test_odd_markup(markup, expected):
    assert text(markup) == expected


def test_very_deep_pages_are_read_or_named(write):
    report = load_folder(write({"a.html": "<div>" * 20_000 + "deep", "b.html": "<p>fine</p>"}))
    assert len(report) + len(report.problems) == 2
    assert "b" in [document.id for document in report]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset=gb2312>", "gb18030"),
        ("<meta charset=utf-8>", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("<meta charset=iso-8859-1>", "utf-8"),
        ("<meta charset=utf-8>", "gb18030"),
        ("", "gb18030"),
    ],
)
def test_character_sets(write, head, encoding):
    page = (
        f"<html><head>{head}<title>手册</title></head><body><p>出差住宿上限为每晚五百元。</p></body></html>"
    )
    document = load_document(write({"a.html": page.encode(encoding)}) / "a.html")
    assert (document.title, document.text) == ("手册", "出差住宿上限为每晚五百元。")


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>T</title><h1>H</h1>", "H"),
        ("<title>T</title><h2>H</h2>", "T"),
        ("<h2>H</h2>", "H"),
        ("<p>x", "a"),
    ],
)
def test_titles_and_media_type(write, page, title):
    document = load_document(write({"a.htm": page}) / "a.htm")
    assert (document.title, document.media_type) == (title, "text/html")


def test_character_references_leave_no_other_newlines(write):
    document = load_document(write({"a.html": "<pre>a&#13;\nb&#xD800;c</pre>"}) / "a.html")
    assert document.text.split("\n")[:2] == ["```", "a"] and "\r" not in document.text
    document.text.encode("utf-8")
