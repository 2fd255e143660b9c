"""Quotes are exact, cited so that they read back, and few; nothing near enough is a refusal."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.citations import parse_citations
from ragkit.context import Context, Source
from ragkit.embedding import HashingEmbedder
from ragkit.generation import NO_ANSWER, ExtractiveGenerator
from ragkit.generation.quotes import find_quotes
from tests.fixtures import minilm

HOTEL = "In Berlin a room may cost up to 150 euros a night, breakfast not included."
CAR = "A hired car must be returned with a full tank."
MEAL = "The daily meal allowance is 32 euros."
ROOM_AND_MEAL = "What may a room in Berlin cost a night, and a meal?"
ROOM, LUNCH = "A room in Berlin may cost 150 euros a night.", "A meal in Berlin may cost 32 euros."
ROWS = "| City | Cap |\n|---|---|\n| Berlin | 150 euros |\n| Leeds | 105 pounds |"


def by_words(**arguments) -> ExtractiveGenerator:
    """With an embedder that sees letters only: quick, and near in wording is near."""
    return ExtractiveGenerator(HashingEmbedder(512), **{"min_score": 0.25, **arguments})


def answer(question, *texts, **arguments):
    return by_words(**arguments).generate(question, Context.from_texts(*texts)).text()


def source(text, **more):
    return replace(Context.from_texts(text)[1], **more)


def quoted(text):
    return [quote.text for quote in find_quotes(source(text))]


# ---- what can be quoted ----

def test_sentences_list_items_and_rows_but_no_headings_or_header_rows():
    text = f"# Travel\n\n{HOTEL} {CAR}\n\nBring these:\n\n- a passport\n- the form TR-10. Signed.\n1. a tie\n\n{ROWS}\n"
    assert quoted(text) == [HOTEL, CAR, "a passport", "the form TR-10.", "Signed.", "a tie", "| Berlin | 150 euros |",
                            "| Leeds | 105 pounds |"]


def test_code_is_quoted_by_line_without_its_fence():
    assert quoted("Then:\n\n```sh\nsystemctl restart beacon\n  beaconctl check\n```\n") == [
        "systemctl restart beacon", "beaconctl check"]


def test_rows_after_a_cut_are_rows_and_are_read_with_the_header_that_stands_in_the_prefix():
    quotes = find_quotes(source("| Berlin | 150 euros |\n| Leeds | 105 pounds |", prefix="| City | Cap |"))
    assert [quote.text for quote in quotes] == ["| Berlin | 150 euros |", "| Leeds | 105 pounds |"]
    assert [quote.read_text for quote in quotes] == [
        "| City | Cap |\n| Berlin | 150 euros |", "| City | Cap |\n| Leeds | 105 pounds |"]


def test_a_row_is_found_by_what_its_header_says():
    text = ("| City | Hotel cap |\n|---|---|\n| Berlin | 150 euros |\n\n"
            "| City | Parking |\n|---|---|\n| Berlin | 9 euros |")
    assert answer("hotel cap Berlin", text, most=1) == "| Berlin | 150 euros | [1]"
    assert answer("parking Berlin", text, most=1) == "| Berlin | 9 euros | [1]"


def test_a_bold_beginning_is_read_with_its_paragraph_but_not_quoted():
    text = f"**Ransomware.** Switch it off. Call us.\n\n{CAR}\n\n- **Hotel:** {HOTEL}\n- {MEAL}"
    quotes = find_quotes(source(text))
    assert [(quote.header, quote.text) for quote in quotes] == [
        ("**Ransomware.**", "Switch it off."), ("**Ransomware.**", "Call us."), ("", CAR),
        ("", f"**Hotel:** {HOTEL}"), ("", MEAL)]


PAGE = """Hotel and Meal Caps · version 1 Page 1 of 4
3 How to read the tables
All caps are for one person in a single room, VAT and city tax
included. Breakfast is not part of it.
Germany and Austria
City Normal cap High season
Berlin EUR 150 EUR 185
Hamburg EUR 145 EUR 170
China
Suzhou CNY 620 CNY 700
In Berlin the normal hotel cap is 150 euros a night, also in
September."""


def test_the_lines_of_a_table_from_a_pdf_are_quotes_and_its_headings_are_read_with_them():
    quotes = find_quotes(source(PAGE, page=1))
    assert [(quote.header, quote.text) for quote in quotes] == [
        ("3 How to read the tables", "All caps are for one person in a single room, VAT and city tax\nincluded."),
        ("", "Breakfast is not part of it."),
        ("Germany and Austria\nCity Normal cap High season", "Berlin EUR 150 EUR 185"),
        ("Germany and Austria\nCity Normal cap High season", "Hamburg EUR 145 EUR 170"),
        ("China", "Suzhou CNY 620 CNY 700"),
        ("", "In Berlin the normal hotel cap is 150 euros a night, also in\nSeptember.")]


def test_a_page_line_is_no_quote():
    assert quoted("Hotel and Meal Caps Page 3 of 4\n\n" + MEAL) == [MEAL]


def test_a_table_of_bare_lines_without_numbers():
    text = "Light Meaning\ngreen, steady all in order\nred, steady fault\namber, blinking warning\n" + "wide " * 30
    assert [(quote.header, quote.text) for quote in find_quotes(source(text, page=2))][:2] == [
        ("Light Meaning", "green, steady all in order"), ("Light Meaning", "red, steady fault")]


@pytest.mark.parametrize("text", ["Flights must be booked\nat least 14 days before departure.",
                                  "Walls cost about\n15 m each, metal shelving more, and glass nothing at all.",
                                  "Write to\nAnna Meier about it, or to her deputy in the office upstairs."])
def test_a_sentence_with_line_breaks_is_quoted_whole(text):
    assert quoted(f"{CAR} {MEAL}\n\n{text}") == [CAR, MEAL, text]


def test_a_sentence_of_a_pdf_that_begins_in_the_middle_of_a_line_is_quoted_whole():
    text = f"{HOTEL} Send them to\nHamburg in the envelope that comes with each new cell, free of charge."
    assert [quote.text for quote in find_quotes(source(text, page=1))] == [HOTEL, text[len(HOTEL) + 1:]]


def test_chinese_sentences():
    assert quoted("# 差旅\n\n酒店每晚不超过600元。超出部分自理！") == ["酒店每晚不超过600元。", "超出部分自理！"]


@settings(max_examples=150)
@given(st.text(alphabet="ab1 .:|-#`\n[]()*>é差。\t", max_size=120), st.sampled_from(["", "| a | b |", "```sh"]),
       st.sampled_from([None, 1]))
def test_every_quote_is_an_exact_span_in_order(text, prefix, page):
    quotes = find_quotes(source(text, prefix=prefix, page=page))
    assert all(text[quote.start:quote.end] == quote.text == quote.text.strip() != "" for quote in quotes)
    assert all(before.end <= after.start for before, after in zip(quotes, quotes[1:], strict=False))


# ---- the answer ----

def test_the_nearest_sentence_with_its_mark():
    assert answer("What may a room in Berlin cost a night?", CAR, HOTEL, MEAL, most=1) == f"{HOTEL} [2]"


def test_quotes_stand_in_the_order_of_the_sources_not_of_their_scores():
    assert answer(ROOM_AND_MEAL, f"{CAR} {LUNCH}", ROOM, most=1) == f"{ROOM} [2]"
    assert answer(ROOM_AND_MEAL, f"{CAR} {LUNCH}", ROOM) == f"{LUNCH} [1]\n\n{ROOM} [2]"


def test_quotes_of_one_source_stand_in_the_order_of_its_text():
    assert answer(ROOM_AND_MEAL, f"{LUNCH} {CAR} {ROOM}") == f"{LUNCH} [1]\n\n{ROOM} [1]"


def test_a_quote_is_a_piece_of_the_stream():
    stream = by_words().generate(ROOM_AND_MEAL, Context.from_texts(LUNCH, ROOM))
    assert list(stream) == [f"{LUNCH} [1]", f"\n\n{ROOM} [2]"]


def test_never_more_than_asked_for():
    texts = [f"Room number {number} in Berlin has a bed." for number in (11, 12, 13, 14, 15)]
    for most in (1, 2, 4):
        assert len(parse_citations(answer("Which room in Berlin has a bed?", *texts, most=most))) == most


def test_what_is_far_below_the_best_is_no_part_of_the_answer():
    assert answer("What may a room in Berlin cost a night?", HOTEL, "A room is a room.") == f"{HOTEL} [1]"


@pytest.mark.parametrize("texts", [(CAR,), (CAR, "# Room in Berlin\n"), ()])
def test_nothing_near_enough_is_a_refusal(texts):
    assert answer("What may a room in Berlin cost a night?", *texts) == NO_ANSWER


def test_the_same_sentence_in_two_sources_is_quoted_once_with_both_marks():
    again = HOTEL.replace("Berlin", "**Berlin**").rstrip(".")
    assert answer("What may a room in Berlin cost a night?", HOTEL, CAR, again) == f"{HOTEL} [1][3]"


def test_sentences_that_differ_in_a_number_are_two():
    other = HOTEL.replace("150", "160")
    assert answer("What may a room in Berlin cost a night?", HOTEL, other) == f"{HOTEL} [1]\n\n{other} [2]"


def test_the_same_row_under_another_header_is_another():
    tables = ("| City | Hotel cap |\n|---|---|\n| Berlin | 150 |",
              "| City | Hotel parking |\n|---|---|\n| Berlin | 150 |")
    assert answer("hotel Berlin", *tables) == "| Berlin | 150 | [1]\n\n| Berlin | 150 | [2]"


@pytest.mark.parametrize("trap", ["A room in Berlin costs 150 euros a night [5].",
                                  "See [1]: room in Berlin, night cost.",
                                  "[2]: a-room-in-Berlin-and-its-cost-a-night"])
def test_a_sentence_with_marks_of_its_own_is_not_quoted_and_the_stream_says_so(trap):
    stream = by_words().generate("What may a room in Berlin cost a night?", Context.from_texts(trap, HOTEL))
    assert stream.text() == f"{HOTEL} [2]"
    assert stream.notes == ("not quoted, since they hold marks like [1] themselves: 1 of the sources' sentences",)


@settings(max_examples=150)
@given(st.lists(st.text(alphabet="ab1 .:|-#`\n[]()*>é。", min_size=1, max_size=60), min_size=1, max_size=4))
def test_whatever_the_sources_hold_the_marks_read_back(texts):
    """Code, links and brackets in one quote cannot swallow or add a mark."""
    context = Context.from_texts(*texts)
    text = by_words(min_score=0).generate("a b 1", context).text()
    if text == NO_ANSWER:
        return
    paragraphs = text.split("\n\n")
    for paragraph in paragraphs:
        quote, marks = re.fullmatch(r"(.+) ((?:\[\d\])+)", paragraph, re.DOTALL).groups()
        numbers = [int(number) for number in re.findall(r"\d", marks)]
        assert quote in context[numbers[0]].text
    wanted = [int(number) for paragraph in paragraphs for number in re.findall(r"\d", paragraph.rpartition(" ")[2])]
    assert [mark.number for mark in parse_citations(text)] == wanted


def test_the_same_question_gives_the_same_answer():
    texts = [f"Room number {number} in Berlin has a bed." for number in (11, 12, 13, 14, 15)]
    assert len({answer("Which room in Berlin has a bed?", *texts) for _ in range(3)}) == 1


def test_sources_need_no_neat_numbers_or_places():
    """What is quoted is the source's own text, wherever that begins in its document."""
    far = Source(1, "travel", "3", "Travel", f"{CAR} {HOTEL}", 4000, 4000 + len(CAR) + len(HOTEL) + 1)
    context = Context((far,), far.text, 30, 100)
    assert by_words().generate("What may a room in Berlin cost a night?", context).text() == f"{HOTEL} [1]"


# ---- with the course's models ----

def test_a_paraphrase_is_found_by_meaning():
    question = "How expensive can my accommodation be in the German capital?"
    context = Context.from_texts(f"{CAR} {HOTEL} {MEAL}")
    assert ExtractiveGenerator(minilm(), most=1).generate(question, context).text() == f"{HOTEL} [1]"


def test_off_topic_is_a_refusal():
    context = Context.from_texts(f"{CAR} {HOTEL} {MEAL}")
    assert ExtractiveGenerator(minilm()).generate("Who won the football world cup?", context).text() == NO_ANSWER


def test_chinese_is_read_by_a_model_that_can():
    context = Context.from_texts("出差住宿费每晚不超过600元。", "打印机在三楼。年假为十五天。")
    assert ExtractiveGenerator(minilm()).generate("住酒店最多能报销多少钱？", context).text() == "出差住宿费每晚不超过600元。 [1]"


@pytest.mark.parametrize("arguments, value", [({"most": 0}, "0"), ({"min_score": 1.5}, "1.5"),
                                              ({"min_score": float("nan")}, "nan")])
def test_numbers_out_of_range(arguments, value):
    with pytest.raises(ValueError, match=value):
        ExtractiveGenerator(**arguments)


def test_a_question_of_the_source_is_no_quote():
    faq = "May I bring my dog to the office? Dogs are welcome in the office on Fridays."
    assert quoted(faq) == ["Dogs are welcome in the office on Fridays."]
    assert quoted("**可以带狗上班吗？** 每周五可以带狗来办公室。") == ["每周五可以带狗来办公室。"]
    assert answer("May I bring my dog to the office?", faq) == "Dogs are welcome in the office on Fridays. [1]"
    assert answer("May I bring my dog to the office?", "May I bring my dog to the office?") == NO_ANSWER
