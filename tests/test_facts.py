import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.facts import Fact, agree, find_facts
from tests.fixtures import processor_seconds

PIECES = st.lists(st.sampled_from(
    ["EUR ", "€", "1,200", "12", " March ", "2025", "-", " to ", "9", ":30", " am", "E-412", " not ", "two", " hundred",
     " days", "%", "Berlin ", ". ", "\n", "[1]", "三十", "天", "不", "月", "日", "年", "周三", "|", "1. ", "."]), max_size=14).map("".join)


def found(text: str, kind: str | None = None) -> list[tuple]:
    return [(fact.text, fact.value) for fact in find_facts(text) if kind in (None, fact.kind)]


def values(text: str, kind: str) -> list:
    return [fact.value for fact in find_facts(text) if fact.kind == kind]


def only(text: str) -> Fact:
    (fact,) = find_facts(text)
    return fact


@given(st.one_of(PIECES, st.text(max_size=60)))
@settings(deadline=None)
def test_spans_are_exact_and_only_negations_overlap(text):
    facts = find_facts(text)
    assert all(text[fact.start:fact.end] == fact.text for fact in facts)
    plain = [fact for fact in facts if fact.kind != "negation"]
    assert all(one.end <= other.start for one, other in zip(plain, plain[1:], strict=False))


@pytest.mark.parametrize("group", [
    ["EUR 1,200", "1200 euros", "€1,200", "1,200 EUR", "1200.00 euros", "€1.2k", "twelve hundred euros"],
    ["15 %", "15%", "15 percent", "15 per cent", "百分之十五", "fifteen percent"],
    ["12 months", "twelve months", "12-month", "1 year", "one year", "一年", "12个月"],
    ["14 days", "two weeks", "fourteen days", "两周", "14天", "十四天"],
    ["24 hours", "24h", "one day", "24小时"],
    ["1.5 km", "1500 m", "1,500 metres"], ["2.5 million", "2,500,000"], ["£0.42", "42 pence"],
    ["12 March 2025", "2025-03-12", "March 12, 2025", "12/03/2025", "12.03.2025", "2025年3月12日", "12th of March 2025"],
    ["Thursday", "Thursdays", "周四", "星期四"], ["9 am", "09:00", "9:00", "9.00 am", "上午9点", "9:00 a.m."],
    ["noon", "12:00", "12 noon"], ["3:30 pm", "15:30", "下午3点半"], ["E-412", "e-412"], ["v2.4.9", "2.4.9"],
    ["5 working days", "five business days", "5个工作日"], ["EUR 50,000", "5万欧元"], ["-20 °C", "−20 ℃"]])
def test_one_value_for_one_fact_however_it_is_written(group):
    assert len({only(text).value for text in group}) == 1


@pytest.mark.parametrize(("one", "other"), [
    ("14 days", "14 working days"), ("1 month", "30 days"), ("150 euros", "150 pounds"), ("5 GB", "5 MB"), ("9 am", "9 pm"),
    ("12 March", "12 May"), ("Tuesday", "Thursday"), ("E-412", "E-421"), ("3 days", "third"), ("20 °C", "-20 °C")])
def test_what_differs_does_not_agree(one, other):
    assert not agree(only(one), only(other))


@pytest.mark.parametrize(("one", "other"), [("27 days", "27"), ("12 March", "2025-03-12"), ("2025", "March 2025"), ("3", "third")])
def test_what_one_side_leaves_out_is_no_difference(one, other):
    assert agree(only(one), only(other))
    assert agree(only(other), only(one))


@pytest.mark.parametrize(("text", "expected"), [
    ("3-5 days", [(4320.0, "minute"), (7200.0, "minute")]), ("€10 to 15", [(10.0, "EUR"), (15.0, "EUR")]),
    ("3至5天", [(4320.0, "minute"), (7200.0, "minute")]), ("two or three weeks", [(20160.0, "minute"), (30240.0, "minute")])])
def test_a_range_says_its_unit_once(text, expected):
    assert values(text, "number") == expected


def test_number_words():
    assert values("Two hundred and fifty boxes, twenty-one lids, a dozen, two thousand five hundred; $3.9 million", "number") == [
        (250.0, None), (21.0, None), (12.0, None), (2500.0, None), (3_900_000.0, "USD")]


def test_one_is_a_number_only_before_a_unit():
    assert found("one of them, one day, the one") == [("one day", (1440.0, "minute"))]
    assert found("一个人，一个月") == [("一个月", (1.0, "month"))]


def test_may_and_march_are_months_only_where_a_month_can_stand():
    assert values("You may go in May. Guests may march; since March they do.", "date") == [(None, 5, None), (None, 3, None)]


def test_what_the_calendar_does_not_have_is_no_date():
    assert values("2025-02-30", "date") == []
    assert values("29 February 2024", "date") == [(2024, 2, 29)]


def test_citation_marks_and_list_numbers_are_no_facts():
    assert find_facts("1. Claim it [1][2, 3]【4】 [Source 5] [来源6].\n2) Wait") == []


def test_identifiers_and_units_without_a_space():
    assert found("UDP 123 draws 150mA, E-412; 600GB, room 2.14, 4th, NV-AR2-0417") == [
        ("UDP", ("udp",)), ("123", (123.0, None)), ("150mA", (0.15, "A")), ("E-412", "e-412"), ("600GB", (600.0, "GB")),
        ("2.14", (2.14, None)), ("4th", (4.0, "ordinal")), ("NV-AR2-0417", "nv-ar2-0417")]


def test_a_name_is_capitalised_and_does_not_merely_begin_a_sentence():
    text = "Visits to Cloud Platform end. The Finance director and InfoSec agree. Berlin pays. VPN fails."
    assert values(text, "name") == [("cloud", "platform"), ("finance",), ("infosec",), ("vpn",)]


@pytest.mark.parametrize(("text", "scope"), [
    ("Dogs are not allowed in pool cars.", ("allow", "pool")), ("VAT included, breakfast not.", ("breakfast",)),
    ("They don't go, but others do.", ("go",)), ("It runs without a permit.", ("permit",)),
    ("证书不得转让。", ("转让",)), ("未经批准", ("批准",)),
    ("VAT included, breakfast not included.", ("includ", "breakfast"))])
def test_a_negation_names_what_it_denies(text, scope):
    assert values(text, "negation") == [scope]


@pytest.mark.parametrize("text", [
    "Not only dogs bark.", "no later than 5 May", "not more than 40 euros", "whether or not it rains", "No. 5", "no matter what",
    "不超过600元", "不仅如此", "无尘室", "非常好", "未来"])
def test_a_limit_or_a_pair_denies_nothing(text):
    assert values(text, "negation") == []


@pytest.mark.parametrize("piece", ["not ", "1,", "[1,", "不", "十", "a-", "two hundred ", "A b ", "1.1.", "万"])
def test_the_time_is_linear_in_the_length(piece):
    def seconds(size: int) -> float:
        return processor_seconds(lambda: find_facts(piece * (size // len(piece))))

    assert seconds(40_000) < 20 * max(seconds(10_000), 0.02)  # four times as long; sixteen if it were quadratic


@pytest.mark.parametrize("code", ["E\u2010412", "E\u2011412", "Ｅ－４１２"])
def test_an_identifier_is_the_same_in_full_width_and_with_a_hyphen_that_does_not_break(code):
    [found] = find_facts(f"after {code} twice a day")[:1]
    assert (found.kind, found.value, found.text) == ("identifier", "e-412", code)


@pytest.mark.parametrize("blank", ["\u00a0", "\u2009", "\u202f"])
def test_thousands_may_be_parted_by_a_blank_that_does_not_break(blank):
    assert values(f"It costs 1{blank}200 euros.", "number") == values("It costs 1,200 euros.", "number")
