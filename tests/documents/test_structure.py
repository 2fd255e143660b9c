"""Headings, tables and fences of Markdown text."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.documents import Document, find_headings, scan_blocks


def titles(text):
    return [(heading.level, heading.title) for heading in find_headings(text)]


def blocks(text):
    return [(block.kind, text[block.start : block.end]) for block in scan_blocks(text)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# A", [(1, "A")]),
        ("   ###### Six", [(6, "Six")]),
        ("    # code", []),
        ("####### seven", []),
        ("#hashtag", []),
        ("##", []),
        ("\\# escaped", []),
        ("# A ##", [(1, "A")]),
        ("# C#", [(1, "C#")]),
        ("# A \\#", [(1, "A #")]),
        ("## 24/7 Support", [(2, "24/7 Support")]),
        ("#\tTab", [(1, "Tab")]),
        ("## 什么是 Vue？ {#what-is-vue}", [(2, "什么是 Vue？")]),
        ("> # quoted", []),
        ("- # item", []),
    ],
)
def test_atx_headings(line, expected):
    assert titles(line) == expected
    assert titles(f"before\n{line}\nafter") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n=====\n", [(1, "Title")]),
        ("Title\n-\n", [(2, "Title")]),
        ("Two\nlines\n---", [(2, "Two lines")]),
        ("Title\n\n---\n", []),
        ("- item\n---\n", []),
        ("> quote\n---\n", []),
        ("| a | b |\n|---|---|\n---\n", []),
        ("Name   Price\n----   -----\n", []),
        ("word " * 60 + "\n---\n", []),
        ("# A\n---\n", [(1, "A")]),
        ("<!-- note -->\nA\n---\n", [(2, "A")]),
    ],
)
def test_setext_headings(text, expected):
    assert titles(text) == expected


def test_the_span_of_a_heading_is_its_lines():
    text = "x\n\n## A ##\nTwo\nlines\n===\nend"
    assert blocks(text) == [("heading", "## A ##\n"), ("heading", "Two\nlines\n===\n")]


def test_a_skipped_level_is_no_step_of_the_path():
    text = "intro\n# A\n### B\ntext\n### C\nend\n# D\n"
    document = Document("d", "D", text)
    assert document.heading_path_at(0) == ()
    assert document.heading_path_at(text.index("text")) == ("A", "B")
    assert document.heading_path_at(text.index("end")) == ("A", "C")
    assert document.heading_path_at(text.index("# D")) == ("D",)


def test_a_slash_in_a_title_does_not_split_it():
    text = "# Help\n## 24/7 Support\ncall"
    assert Document("d", "D", text).heading_path_at(len(text)) == ("Help", "24/7 Support")


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no\n```\n",
        "~~~ python\n# no\n~~~\n",
        "   ```\n# no\n   ```\n",
        "````\n```\n# no\n````\n",
        "```\n# no\n``` not the end\n# no\n```\n",
        "```\n# no\n~~~\n# no\n```\n",
        "```\n# no\n    ```\n# no\n```\n",
        "```\n# no\n``\n# no\n`````\n",
        "- item\n\n  ```sh\n  # no\n  ```\n",
        "1. step\n\n    ```sh\n# no\n    # no\n    ```\n",
        "- ```sh\n  # no\n  ```\n",
    ],
)
def test_nothing_inside_a_fence_is_a_heading(fence):
    assert titles(fence + "# yes\n") == [(1, "yes")]
    assert [kind for kind, _ in blocks(fence)] == ["fence"]


def test_an_unclosed_fence_runs_to_the_end_and_in_a_list_to_the_end_of_its_item():
    assert titles("# yes\n```\n# no\n") == [(1, "yes")]
    assert titles("- ```\n  # no\n\n# yes\n") == [(1, "yes")]


def test_backticks_inside_a_line_open_no_fence():
    assert titles("``` a ``` b\n# yes\n") == [(1, "yes")]


def test_the_header_of_a_fence_is_its_opening_line():
    text = "a\n```sh\nls\n```\n"
    (block,) = scan_blocks(text)
    assert text[block.start : block.header_end] == "```sh\n"


@pytest.mark.parametrize(
    "text", ["<!-- a\n# no\n-->\n", "<pre>\n# no\n</pre>\n", "<script>\n# no\n</script>\n"]
)
def test_comments_and_raw_html_hold_no_headings(text):
    assert titles(text + "# yes\n") == [(1, "yes")]


def test_a_table_is_header_separator_and_rows():
    text = "Caps:\n| City | Cap |\n|:--|--:|\n| Berlin | 120 |\n| a \\| b | 1 |\nprose\n"
    (block,) = scan_blocks(text)
    assert text[block.start : block.header_end] == "| City | Cap |\n|:--|--:|\n"
    assert text[block.header_end : block.end] == "| Berlin | 120 |\n| a \\| b | 1 |\n"


@pytest.mark.parametrize(
    "text", ["a | b\n", "| a | b |\n|---|\n", "| a |\n| b |\n", "a\n---\n", "| a |\n\n|---|\n"]
)
def test_not_every_bar_is_a_table(text):
    assert "table" not in [kind for kind, _ in blocks(text)]


def test_tables_without_outer_bars_and_inside_list_items():
    assert [kind for kind, _ in blocks("a | b\n--|--\n1 | 2\n")] == ["table"]
    assert [kind for kind, _ in blocks("1. see\n\n    | a |\n    |---|\n    | 1 |\n")] == ["table"]


def test_a_table_ends_at_a_heading_and_a_fence():
    text = "| a |\n|---|\n| 1 |\n# A | B\n"
    assert blocks(text) == [("table", "| a |\n|---|\n| 1 |\n"), ("heading", "# A | B\n")]


def test_the_last_line_needs_no_newline():
    assert blocks("# A\n```\nx") == [("heading", "# A\n"), ("fence", "```\nx")]
    assert scan_blocks("") == []


MARKUP = st.lists(
    st.sampled_from(
        [
            "#",
            "##",
            " ",
            "\t",
            "a",
            "中",
            "`",
            "```",
            "~~~",
            "|",
            "-",
            "---",
            "=",
            "\n",
            "\n\n",
            "\r\n",
            "- ",
            "1. ",
            "> ",
            "<!--",
            "-->",
            "    ",
            "| a |\n|---|\n",
            "\u2028",
            "\x0c",
            "\ud800",
        ]
    ),
    max_size=60,
).map("".join)


@given(st.one_of(MARKUP, st.text(st.characters(), max_size=200)))
def test_spans_are_in_order_inside_the_text_and_whole_lines(text):
    end = 0
    for block in scan_blocks(text):
        assert end <= block.start < block.end <= len(text)
        assert block.start == 0 or text[block.start - 1] == "\n"
        assert block.end == len(text) or text[block.end - 1] == "\n"
        if block.kind == "heading":
            assert block.header_end is None
        else:
            assert block.start < block.header_end <= block.end
        end = block.end
    for heading in find_headings(text):
        assert 1 <= heading.level <= 6
        assert heading.title.strip() and "\n" not in heading.title


@pytest.mark.parametrize(
    "line",
    ["- ```\n", "``` a\n", "```` a\n```\n", "| a\n", "| a |\n|---|\n", "- ", "a\n", "- a\n```\n", "<!--\n"],
)
def test_work_grows_with_the_length_only(line):
    def calls(text):
        """How many functions are called: unlike seconds, the same on every machine."""
        counted = 0

        def count(frame, event, argument):
            nonlocal counted
            counted += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            scan_blocks(text)
        finally:
            sys.setprofile(before)
        return counted

    assert calls(line * 2_000) < 15 * calls(line * 200)  # quadratic work would be a hundred times as much
