"""What a question asks for, and what an answer of that kind looks like."""

import pytest

from ragkit.refusal.answer_types import ANSWER_TYPES, expected_answer, focus, keywords
from tests.fixtures import processor_seconds


def kind(question: str) -> str | None:
    found = expected_answer(question)
    return found and found.name


@pytest.mark.parametrize(("question", "expected"), [
    ("How much is a parking permit in Hamburg?", "an amount of money"),
    ("What does a D-16 laptop cost?", "an amount of money"),
    ("How long do I have to claim an expense?", "a length of time"),
    ("How many weeks' notice do you need?", "a length of time"),
    ("How much time off do we have?", "a length of time"),
    ("When was the winter freeze for releases in 2024?", "a date or time"),
    ("In which year was Lockbox introduced?", "a year"),
    ("How many seats do we have?", "a number"),
    ("Who has to approve my claim?", "a person or a role"),
    ("Who is the head of InfoSec?", "a person's name"),
    ("Where should a broken dock be sent?", "a place"),
    ("In which colours is the Vela 7 sold?", "a colour"),
    ("What is the telephone number of the reception?", "a telephone number"),
    ("What percentage of the visits were cancelled?", "a percentage"),
    ("Why did the alarm trip?", "a reason"),
    ("Is my wife insured when she comes along?", None),
    ("What happens when a customer sends back a box?", None),
    ("单程打车最多能报多少钱？", "an amount of money"),
    ("工资什么时候到账？", "a date or time"),
    ("急停以后谁能恢复？", "a person or a role"),
    ("过滤网多久换一次？", "a length of time"),
])
def test_what_is_asked_for(question, expected):
    assert kind(question) == expected


@pytest.mark.parametrize(("name", "text", "there"), [
    ("an amount of money", "A permit costs 40 euros a month.", True),
    ("an amount of money", "Members park free of charge.", True),
    ("an amount of money", "A permit is valid for 40 days.", False),
    ("an amount of money", "每人每年最高 1,500 元", True),
    ("a number", "There are 60 seats.", True),
    ("a number", "There are sixty seats.", True),
    ("a number", "See E-412 about the S-14.", False),
    ("a length of time", "Claims are due within 30 days.", True),
    ("a length of time", "三个工作日之内", True),
    ("a length of time", "Claims are due in Ledgerline.", False),
    ("a year", "It came in 2019.", True),
    ("a year", "It came in March.", False),
    ("a colour", "The case is light grey.", True),
    ("a person or a role", "It is signed by the department head.", True),
    ("a person or a role", "it is signed on paper.", False),
    ("a person's name", "Our head of security is Jo Ander.", True),
    ("a person's name", "Our head of security decides.", False),
    ("a telephone number", "Call +49 40 1234 567.", True),
    ("a telephone number", "Call extension 17.", False),
])
def test_whether_a_text_holds_one(name, text, there):
    by_name = {type_.name: type_ for type_ in ANSWER_TYPES}
    assert by_name[name].is_in(text, "?") is there


def test_what_only_repeats_the_question_is_no_answer():
    question = "How many people fit into room 12?"
    asked = expected_answer(question)
    assert not asked.is_in("Room 12 is on the left.", question)
    assert asked.is_in("Room 12 holds 30.", question)


@pytest.mark.parametrize(("question", "expected"), [
    ("Which airline should I pick for Shanghai?", ["airline"]),
    ("What is the yearly fee for a corporate card?", ["yearly"]),
    ("Is there a company nursery in Berlin?", ["company", "nursery"]),
    ("How many terabytes of tape are in the bank safe?", ["terabytes", "tape"]),
    ("Who is the fire warden on floor 3?", ["fire", "warden"]),
    ("Can I buy more holiday?", []),
    ("食堂几点开门？", []),
])
def test_the_focus_is_what_is_asked_for(question, expected):
    assert [word.text for word in focus(question)] == expected


def test_keywords_leave_out_what_asks_but_never_everything():
    assert [word.text for word in keywords("How long does an access token last, and which token?")] == [
        "access", "token", "last"]
    assert [word.text for word in keywords("What does a permit cost?")] == ["permit"]
    assert [word.text for word in keywords("How much?")] == ["much"]


@pytest.mark.parametrize("piece", ["what is the ", "how much ", "what do you ", "How much is a permit ", "多少"])
def test_time_is_linear_in_the_length_of_the_question(piece):
    def seconds(repeats):
        return processor_seconds(lambda: [read(piece * repeats) for read in (expected_answer, focus, keywords)])

    assert seconds(2000) < 10 * seconds(500) + 0.1
