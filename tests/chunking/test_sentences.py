import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.chunking import split_sentences


def sentences(text):
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It rains.", "We stay in!", "Do we?", "Yes."],
        ["Pi is 3.14 here.", "Version 1.2.3 is out.", "See https://example.com/a.b?c=d for more."],
        ["Import ragkit.chunking first.", "Then open index.md.", "Next, run it."],
        ["Bring a badge, e.g. the blue one, i.e. yours.", "Ask Dr. Smith or Mr. Li vs. the rest."],
        ["It costs approx. Five euros.", "See Fig. 3, No. 5 and pp. 6 of it."],
        ["May I leave early?", "No.", "Stay until 5 p.m. on Fridays."],
        ["The U.S. Government pays.", "She lives in the U.S.", "The rest do not."],
        ["J. R. Tolkien wrote it.", "Choose plan B.", "The others are gone."],
        ["Pens, paper etc. are free.", "So are chairs, tables etc.", "Ask for them."],
        ["Wait... what is this?", "Nothing...", "Move on.", "Well… maybe not.", "Or…", "Yes."],
        ['"Really?" she asked.', '"Stop!"', "He left.", "(See above.)", "**Bold.**", "“Fine.”", "End."],
        ["What?!", "No!!!", "Oh."],
    ],
)
def test_english(expected):
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["下列费用可以报销：机票、酒店，以及餐费。", "其余不可以！", "对吗？", "对；", "不过要发票…", "好。"],
        ["他说：“可以。”", "然后走了。", "「真的？」", "（见附录。）", "《差旅政策！》", "下一句。"],
        ["版本1.2.3已发布。", "上限是3.14万元。"],
        ["等等……", "怎么办？！", "算了。"],
        ["你好!", "走吧?", "好的...", "完成.", "结束"],
        ["**注意。**", "下一句。", "**例外**：没有。"],
        ["请看下图![图](a.png)。", "完。"],
        ["没有句号"],
    ],
)
def test_chinese(expected):
    assert sentences("".join(expected)) == expected


def test_mixed_languages():
    assert sentences("请用 VPN。Use the VPN. 谢谢！") == ["请用 VPN。", "Use the VPN.", "谢谢！"]


def test_the_number_of_a_heading_does_not_end_it():
    assert sentences("## 4. Hotels\nThe cap is low.\n### 4.1. Cities\nAll.") == [
        "## 4. Hotels",
        "The cap is low.",
        "### 4.1. Cities",
        "All.",
    ]


def test_blank_lines_headings_and_list_items_are_boundaries():
    text = (
        "# Hotels\nBook early and\nread the rules\n\nA new paragraph\n- first item. More of it.\n* second\n"
        "1. One\n12) twelve\n## Trains\n### 24/7 Support\nlast\n一、总则\n（二）范围\n1、目的"
    )
    assert sentences(text) == [
        "# Hotels",
        "Book early and\nread the rules",
        "A new paragraph",
        "- first item.",
        "More of it.",
        "* second",
        "1. One",
        "12) twelve",
        "## Trains",
        "### 24/7 Support",
        "last",
        "一、总则",
        "（二）范围",
        "1、目的",
    ]


def test_the_same_sentence_six_times_has_six_spans():
    assert split_sentences("Book early. " * 6) == [(12 * n, 12 * n + 11) for n in range(6)]


def test_nothing_gives_nothing():
    assert split_sentences("") == split_sentences(" \n\t\u3000") == []


@pytest.mark.parametrize("unit", [".", "。”", "\n", "# a\n", ") ", "e.g. ", '"', "…*", "- a\n"])
def test_time_is_linear(unit):
    # A quadratic step would take minutes here, not a fraction of a second.
    text = unit * (200_000 // len(unit))
    assert all(start < end for start, end in split_sentences(text))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters()) | st.text("aB1 .!?…。；：”\"'*)（\n#-、\u3000"))
def test_spans_are_in_order_trimmed_and_hold_everything(text):
    spans = split_sentences(text)
    position = 0
    for start, end in spans:
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()
