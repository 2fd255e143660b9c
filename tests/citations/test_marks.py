"""Citation marks: which forms are read, which are not, and where each stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.citations import parse_citations
from ragkit.citations.marks import WIDEST_RANGE, remove_marks
from tests.fixtures import processor_seconds


def numbers(text):
    return [mark.number for mark in parse_citations(text)]


def written(text):
    return [(mark.number, text[mark.start:mark.end]) for mark in parse_citations(text)]


@pytest.mark.parametrize("text, expected", [
    ("Fact [1].", [(1, "[1]")]),
    ("Fact [1][2].", [(1, "[1]"), (2, "[2]")]),
    ("Fact [1,2].", [(1, "1"), (2, "2")]),
    ("Fact [1, 3-5].", [(1, "1"), (3, "3-5"), (4, "3-5"), (5, "3-5")]),
    ("Fact [2–3].", [(2, "[2–3]"), (3, "[2–3]")]),
    ("Fact [5-3].", [(3, "[5-3]"), (4, "[5-3]"), (5, "[5-3]")]),
    ("Fact ［１］。", [(1, "［１］")]),
    ("Fact【12】。", [(12, "【12】")]),
    ("Fact [来源1]。", [(1, "[来源1]")]),
    ("[来源1，来源2]", [(1, "来源1"), (2, "来源2")]),
    ("Fact [Source 2].", [(2, "[Source 2]")]),
    ("Fact [source: 2; 4].", [(2, "source: 2"), (4, "4")]),
    ("Fact [Sources 1 and 2].", [(1, "Sources 1"), (2, "2")]),
    ("Fact [1, 2, and 3].", [(1, "1"), (2, "2"), (3, "3")]),
    ("Fact [^1].", [(1, "[^1]")]),
    ("Fact [ 1 ].", [(1, "[ 1 ]")]),
    ("[[1]]", [(1, "[1]")]),
    ("fox [5] dog [2]", [(5, "[5]"), (2, "[2]")]),
    ("25%[1], in 2025[2].", [(1, "[1]"), (2, "[2]")]),
    ("150 euros a night[1]. Next", [(1, "[1]")]),
    ("150 euros a night[1][2].", [(1, "[1]"), (2, "[2]")]),
    ("每晚150元[1]，含早餐[2]。", [(1, "[1]"), (2, "[2]")]),
    ("[1](page 3 of it)", [(1, "[1]")]),
    ("[policy][1] says so", [(1, "[1]")]),
])
def test_what_is_a_mark_and_where_it_stands(text, expected):
    assert written(text) == expected


@pytest.mark.parametrize("text", [
    "X [0]", "the interval [0, 1]", "[0-9]", "[1.5]", "[01]", "[x]", "[1st]", "[]", "[ ]", "[1", "1]", "[1】",
    "[-1]", "[1,]", "[1 2]", "published [2024]", "[1234567890123]",
    "`arr[2]`", "`[2]`", "``a ` [1] ``", "```\nvalue [1]\n```", "~~~\n[1]\n~~~\n", "arr[2] = 5", "use arr[2] here",
    "x1[2].", "self.items[2].", "rowCount[3].", "matrix[1][2] = 0",
    "[1](https://example.org)", "[1](#top)", '[1](a.html "a title")', "![1](a.png)",
    "[text][1]\n\n[1]: https://example.org", "[1]: https://example.org",
])
def test_what_is_none(text):
    assert parse_citations(text) == []


def test_a_backtick_hides_nothing_beyond_its_paragraph():
    assert numbers("a ` b [1]\n\nc ` d [2]") == [1, 2]
    assert numbers("- a ` b [1]\n- c ` d [2]") == [1, 2]
    assert numbers("a `b [1]` c [2]") == [2]
    assert numbers(r"a \`b [1] c` d") == [1]


def test_a_year_among_other_numbers_or_with_a_word_is_a_number():
    assert numbers("[1, 2024]") == [1, 2024]
    assert numbers("[Source 2024] [3000]") == [2024, 3000]


def test_a_wide_range_gives_its_ends():
    assert numbers(f"[1-{WIDEST_RANGE}]") == list(range(1, WIDEST_RANGE + 1))
    assert numbers("[1-1000000]") == [1, 1000000]


def test_the_bracket_of_each_mark():
    text = "a [1, 3-4] b [2]"
    assert {text[slice(*mark.bracket)] for mark in parse_citations(text)} == {"[1, 3-4]", "[2]"}


def test_marks_taken_out():
    text = "One [1]. Two.[2][3]\n[4] Three"
    plain, places = remove_marks(text, parse_citations(text))
    assert plain == "One. Two.\n Three"
    assert "".join(text[place] for place in places) == plain


pieces = st.sampled_from(["[", "]", "[1]", "[2, 3]", "【1】", "`", "```", "\n", "(", ")", "a", " ", ".", "，",
                          "[9-1]", "|", "1", ":"])


@given(st.one_of(st.text(), st.lists(pieces, max_size=40).map("".join)))
def test_any_text(text):
    marks = parse_citations(text)
    for mark in marks:
        assert mark.number >= 1
        assert mark.bracket[0] <= mark.start < mark.end <= mark.bracket[1]
        assert text[mark.bracket[0]] in "[［【" and text[mark.bracket[1] - 1] in "]］】"
        assert any(char.isdigit() for char in text[mark.start:mark.end])
    assert [mark.start for mark in marks] == sorted(mark.start for mark in marks)
    plain, places = remove_marks(text, marks)
    assert "".join(text[place] for place in places) == plain


@pytest.mark.parametrize("piece", ["[", "]", "[1]", "[1](", "[1,", "`", "``[1]`", "a[1]", "[1",
                                   "\n   ", "[text][1]", "【1", "```\n"])
def test_hostile_texts_take_time_in_proportion(piece):
    def seconds(times):
        return processor_seconds(lambda: parse_citations(piece * times))

    # Eight times the text: a quadratic scan would take sixty-four times as long.
    assert seconds(48_000) < 20 * seconds(6_000) + 0.05


def test_a_hundred_thousand_brackets():
    assert len(parse_citations("[1]" * 100_000)) == 100_000


@pytest.mark.parametrize("dash", "-‐‑–—−－~～〜")
def test_every_dash_makes_a_range(dash):
    assert numbers(f"Fact [来源：１{dash}３].") == [1, 2, 3]


@pytest.mark.parametrize("wrong", [None, 5, b"[1]", ["[1]"]])
def test_what_is_no_text_is_named(wrong):
    with pytest.raises(TypeError, match=f"expected the answer as a string, got {type(wrong).__name__}"):
        parse_citations(wrong)
