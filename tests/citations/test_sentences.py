"""An answer's sentences, their marks, and which of them claim something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.citations import parse_citations
from ragkit.citations.claims import no_claim_reason
from ragkit.citations.sentences import answer_sentences
from ragkit.generation import NO_ANSWER


def split(text):
    return [(sentence.text, [mark.number for mark in sentence.marks]) for sentence in answer_sentences(text)]


@pytest.mark.parametrize("text, expected", [
    ("It costs 150. [1] Breakfast is extra [2].", [("It costs 150. [1]", [1]), ("Breakfast is extra [2].", [2])]),
    ("It costs 150.[1] Breakfast is extra.[2][3]", [("It costs 150.[1]", [1]), ("Breakfast is extra.[2][3]", [2, 3])]),
    ("One fact. Another fact. [1]", [("One fact.", []), ("Another fact. [1]", [1])]),
    ("One fact.\n[1]", [("One fact.\n[1]", [1])]),
    ("One fact.\n\n[1] Two facts.", [("One fact.", []), ("[1] Two facts.", [1])]),
    ("According to [1], it is so.", [("According to [1], it is so.", [1])]),
    ("- Hotel 150 [1]\n- Taxi 40 [2]", [("- Hotel 150 [1]", [1]), ("- Taxi 40 [2]", [2])]),
    ("Hotel 150 [1]\nTaxi 40 [2]", [("Hotel 150 [1]", [1]), ("Taxi 40 [2]", [2])]),
    ("A long line [1]\nthat goes on.", [("A long line [1]\nthat goes on.", [1])]),
    ("the cap is 150 [1]. the taxi is 40 [2].", [("the cap is 150 [1].", [1]), ("the taxi is 40 [2].", [2])]),
    ("| a | b |\n|---|---|\n| x | 1 [1] |\n| y | 2 |",
     [("| a | b |\n|---|---|", []), ("| x | 1 [1] |", [1]), ("| y | 2 |", [])]),
    ("每晚150元[1]。早餐另付。[2]", [("每晚150元[1]。", [1]), ("早餐另付。[2]", [2])]),
    ("Run `a. B` now. [1]", [("Run `a. B` now. [1]", [1])]),
    ("", []), ("[5]", []),
])
def test_marks_go_to_their_sentence(text, expected):
    assert split(text) == expected


def test_what_is_checked_of_a_sentence():
    def claims(text):
        return [sentence.claim for sentence in answer_sentences(text)]

    assert claims("- The cap is **150** euros [1], [2].") == ["The cap is **150** euros."]
    assert claims("1. First rule [1]") == ["First rule"]
    assert claims("According to [1], taxis cost 40.") == claims("Based on source [1], taxis cost 40.") == ["taxis cost 40."]
    assert claims("[1] says that taxis cost 40.") == claims("Source [1] states that taxis cost 40.") == ["taxis cost 40."]
    assert claims("根据[1]，上限为150元。") == ["上限为150元。"]
    assert claims("According to the travel policy [1], taxis cost 40.") == ["According to the travel policy, taxis cost 40."]
    assert claims("| City | Cap |\n|---|---|\n| Berlin | 150 [1] |") == ["", "Berlin, 150"]


REFUSALS = [
    NO_ANSWER, "The sources do not say who pays for the tyres.", "The provided documents don't mention a pet policy.",
    "The context does not contain any information about winter tyres.", "I do not know.", "I don't know the answer.",
    "I could not find this in the handbook.", "I cannot answer this question.",
    "Sorry, I can't answer that from the sources.",
    "There is no information about parental leave in the sources.", "No information about this is provided.",
    "This is not mentioned in the documents.", "The answer isn't given in the context.",
    "It cannot be determined from the sources.", "There is not enough information to answer the question.",
    "The travel policy does not specify the cap for 2025.",
    "资料中没有提到这一点。", "文档未说明住宿标准。", "无法从资料中确定。", "我不知道。", "没有找到相关信息。", "来源没有说明。",
]
CLAIMS = [
    "The policy does not cover taxis.", "You cannot book business class.", "I found the cap: it is 150 euros.",
    "The sources do not say it for Paris, but in Berlin the cap is 150 euros.",
    "Receipts are not needed below 10 euros.",
    "Staff may not answer the press.", "No information about customers may leave the building.",
    "The context does not cover Paris; however, Berlin has a cap of 150.", "Not all taxis are paid.", "No pets.",
    "不得携带食品进入车间。", "没有工牌不能进入。", "资料没有提到巴黎，但柏林的上限是150欧元。", 
    "Hello Kitty mugs cost 12 euros.", "The following limits apply: 150 in Berlin.",
    "Sure enough, 40 euros is the limit.",
]


@pytest.mark.parametrize("sentence", REFUSALS)
def test_refusals_claim_nothing(sentence):
    assert no_claim_reason(sentence) == "refusal"


@pytest.mark.parametrize("sentence", CLAIMS)
def test_claims_are_not_taken_for_something_else(sentence):
    assert no_claim_reason(sentence) == ""


@pytest.mark.parametrize("sentence, reason", [
    ("Is breakfast included?", "question"), ("还有问题吗？", "question"), ("Hello!", "greeting"), ("您好！", "greeting"),
    ("Dear customer,", "greeting"), ("I hope this helps.", "greeting"), ("Let me know if you need anything else.", "greeting"),
    ("Here is what I found:", "lead-in"), ("以下是答案：", "lead-in"),
    ("Based on source 1:", "lead-in"), ("---", "no words"), ("**", "no words"), ("The", "no words")])
def test_what_else_claims_nothing(sentence, reason):
    assert no_claim_reason(sentence) == reason


def test_short_bold_lines_are_titles():
    assert [sentence.no_claim for sentence in answer_sentences("**Damage and loss.**\n\n**The cap is 150 euros.**")] == [
        "heading", ""]


def test_forms_that_claim_nothing():
    answer = ("# Hotels\n**Caps**\nThe cap is 150. [1]\n```\ncap = 120. Really.\n```\n| a | b |\n|---|---|\n| c | d |\n"
              "\nSources:\n[1] Travel policy\n- [2] Hotel caps\n\nTaxis cost 40.")
    assert [sentence.no_claim for sentence in answer_sentences(answer)] == [
        "heading", "heading", "", "code", "table header", "", "source list", "source list", "source list", ""]


pieces = st.sampled_from(["[1]", " [2]", "[5, 6]", "\n", "\n\n", "It is so", "Is it", ".", "。", "? ", "- ", "| a |",
                          "|---|", "`", "# ", " ",
                          "(", "每晚", "Sources:", "[1]: ", "```", "**"])


@given(st.one_of(st.text(max_size=60), st.lists(pieces, max_size=25).map("".join)))
def test_any_answer(answer):
    sentences = answer_sentences(answer)
    held = set()
    for sentence in sentences:
        assert answer[sentence.start:sentence.end] == sentence.text
        assert bool(sentence.claim) != bool(sentence.no_claim) or not sentence.claim.strip()
        assert sentence.start <= sentence.insert_at <= sentence.end
        held |= set(range(sentence.start, sentence.end))
    starts = [sentence.start for sentence in sentences]
    assert starts == sorted(starts) and all(a.end <= b.start for a, b in zip(sentences, sentences[1:]))
    if sentences:
        assert all(place in held for place, char in enumerate(answer) if not char.isspace())
        assert [mark for sentence in sentences for mark in sentence.marks] == parse_citations(answer)
