"""Missing citations are added, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.citations import attribute, parse_citations, verify_citations
from ragkit.citations.marks import remove_marks
from tests.citations.judges import WordJudge

SOURCES = ["The fox is red and 4 years old.", "The dog sleeps all day.", "每晚150元，早餐另付。"]


def words(text):
    return remove_marks(text, parse_citations(text))[0]


def add(answer, sources=SOURCES):
    return attribute(answer, sources, judge=WordJudge())


@pytest.mark.parametrize("answer, expected", [
    ("The fox is red. The dog sleeps.", "The fox is red. [1] The dog sleeps. [2]"),
    ("The fox is red [1]. The dog sleeps", "The fox is red [1]. The dog sleeps [2]"),
    ("- The fox is red\n- The dog flies\n", "- The fox is red [1]\n- The dog flies\n"),
    ("**The fox is red.** It flies.", "**The fox is red.** [1] It flies."),
    ("每晚150元。早餐另付。", "每晚150元。 [3]早餐另付。 [3]"),
    ("| a | b |\n|---|---|\n| fox | red |\n| dog | 9 |", "| a | b |\n|---|---|\n| fox | red [1] |\n| dog | 9 |"),
    ("每晚150元。(早餐)", "每晚150元 [3]。(早餐) [3]"),
    ("The fox is red [9].", "The fox is red [9]. [1]"),
    ("The fox is red [2].", "The fox is red [2]."),
    ("Hello! The sources do not say.", "Hello! The sources do not say."),
    ("", ""),
])
def test_what_is_added(answer, expected):
    result = add(answer)
    assert result.text == expected
    assert [result.text[one.start:one.end] for one in result.added] == [f"[{one.number}]" for one in result.added]
    assert add(result.text).text == result.text and add(result.text).added == ()


def test_what_remains():
    result = add("The fox is red. The dog flies. The cat is red [2].")
    assert [one.sentence for one in result.added] == ["The fox is red."]
    assert [sentence.text for sentence in result.uncited] == ["The dog flies."]
    assert [sentence.text for sentence in result.unsupported] == ["The cat is red [2]."]
    assert str(result).splitlines()[1:] == ["without a citation: The dog flies.", "wrongly cited: The cat is red [2]."]


def test_recall_rises_and_the_supported_share_stays():
    answer = "The fox is red. The dog sleeps. The dog flies."
    before, after = (verify_citations(text, SOURCES, judge=WordJudge()) for text in (answer, add(answer).text))
    assert (before.citation_recall, after.citation_recall) == (0.0, 2 / 3)
    assert before.supported_share == after.supported_share == 2 / 3


pieces = st.sampled_from(["The fox is red", "the dog sleeps", "It flies", ".", ". ", "! ", "\n", "\n\n", "- ", " [1]", "[2]",
                          "[7]",
                          "(", ")", "每晚", "。", "| fox | red |", "\n|---|---|\n", "`", "```", "# ", "**", "[1]:", " ",
                          "\\", "[x]"])


@given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=20).map("".join)))
def test_the_words_stay_and_a_second_time_adds_nothing(answer):
    result = add(answer)
    assert words(result.text) == words(answer)
    assert add(result.text).text == result.text
    assert len(parse_citations(result.text)) == len(parse_citations(answer)) + len(result.added)
