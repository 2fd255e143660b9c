"""What a source bears out and what it does not: the hard checks, the score, the reasons."""

import dataclasses
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from benchmarks.support_cases import changed, paraphrased, verbatim
from ragkit.citations.support import MINILM, WORDS_ONLY, SignalJudge, Support
from ragkit.embedding import HashingEmbedder, MultilingualEmbedder
from tests.fixtures import processor_seconds

HOTELS = ("Travel Policy > 4. Hotels\n## 4. Hotels\n\nIn Berlin a room may cost up to 150 euros a night, VAT and city tax included, "
          "breakfast not. Bookings are made at least 14 days ahead. Dogs are not allowed in pool cars.")
TABLE = ("Hotel Caps > Caps\n| City | Normal cap (euros) | Nights |\n|---|---|---|\n| Berlin | 150 | 5 |\n| Leeds | 105 | 3 |\n"
         "| Hamburg | 165 | 4 |")
WORDS = SignalJudge(HashingEmbedder())


@pytest.fixture(scope="module")
def minilm() -> SignalJudge:
    return SignalJudge()


def judged(claim: str, source: str = HOTELS, judge: SignalJudge = WORDS) -> Support:
    (support,) = judge.judge([claim], source)
    return support


# Right and wrong ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("claim", [
    "In Berlin a room may cost up to 150 euros a night.", "A room in Berlin may cost up to €150 a night, breakfast not included.",
    "Rooms in Berlin may cost up to EUR 150 a night.", "Bookings are made at least two weeks ahead.",
    "Bookings are made at least fourteen days ahead.", "Dogs are not allowed in pool cars."])
def test_what_the_source_says_is_supported(claim, minilm):
    for judge in (WORDS, minilm):
        assert judged(claim, judge=judge).label == "supported"


@pytest.mark.parametrize(("claim", "reason"), [
    ("In Berlin a room may cost up to 180 euros a night.", "180 euros is not in the source; it has 150 euros"),
    ("In Berlin a room may cost up to 150 pounds a night.", "150 pounds is not in the source"),
    ("Bookings are made at least 14 weeks ahead.", "14 weeks is not in the source; it has 14 days"),
    ("In Berlin a room may not cost up to 150 euros a night, breakfast not.", "the claim says “not”, the source does not"),
    ("Dogs are allowed in pool cars.", "the source says “not”, the claim does not")])
def test_one_changed_fact_is_named_and_not_supported(claim, reason, minilm):
    for judge in (WORDS, minilm):
        support = judged(claim, judge=judge)
        assert reason in support.reasons
        assert support.label != "supported"
        assert support.score < 0.5


def test_contradicted_needs_something_else_in_its_place():
    assert judged("In Berlin a room may cost up to 180 euros a night.").label == "contradicted"
    assert judged("In Berlin the mayor was elected on 12 March 2025.").label == "unsupported"
    assert judged("The canteen serves fish every Friday.").label == "unsupported"


@pytest.mark.parametrize(("claim", "source", "label", "reason"), [
    ("Breakfast costs 12 euros.", "A taxi ride costs 40 euros.", "unsupported",
     "12 euros is not in the source; it has 40 euros"),
    ("Breakfast costs 12 euros.", "A taxi ride costs 40 euros. Breakfast costs 15 euros.", "contradicted",
     "12 euros is not in the source; it has 15 euros"),
    ("Breakfast costs 12 euros.", "Meals > Breakfast\nIt costs 15 euros. Dinner is at 19:00.", "contradicted",
     "12 euros is not in the source; it has 15 euros")])
def test_contradicted_only_by_a_sentence_about_the_same(claim, source, label, reason, minilm):
    for judge in (WORDS, minilm):
        support = judged(claim, source, judge)
        assert support.label == label
        assert reason in support.reasons


@pytest.mark.parametrize(("claim", "source", "reason"), [
    ("A room can be booked for 8 hours.", "A room can be booked, then enter 0000.", "8 hours is not in the source"),
    ("A room is booked for 4 hours.", "A room is booked within 8 minutes.", "4 hours is not in the source"),
    ("You may print 100 colour pages.", "You may print in colour with code 0000.", "100 is not in the source"),
    ("You may print 100 colour pages.", "You may print 40 colour pages.", "100 is not in the source; it has 40"),
    ("The hall has 36 chairs.", "The hall has 4 doors.", "36 is not in the source"),
    ("The API answers PC-518.", "The API answers in v2.", "PC-518 is not in the source"),
    ("The API answers PC-518.", "The API answers PC-503.", "PC-518 is not in the source; it has PC-503"),
    ("Claims take 12 days.", "Claims take long. Trips take 5 days.", "12 days is not in the source")])
def test_a_reason_compares_like_with_like(claim, source, reason):
    assert reason in judged(claim, source).reasons


def test_a_not_of_another_sentence_is_no_reason(minilm):
    source = ("Dogs are not taken along by car, and cats are not taken along by train or by plane. "
              "A dog that is taken along by bus needs a ticket.")
    support = judged("A dog that is taken along by bus needs a ticket.", source, minilm)
    assert support.label == "supported" and not any("not" in reason for reason in support.reasons)


def test_breakfast_not_denies_breakfast_and_nothing_else():
    assert judged("In Berlin a room may cost up to 150 euros a night, breakfast included.").label == "contradicted"
    assert judged("In Berlin a room may cost up to 150 euros a night, VAT included.").label == "supported"


def test_not_only_denies_nothing():
    source = "The rate covers not only fuel but also insurance and tolls."
    assert judged("The rate covers fuel, insurance and tolls.", source).label == "supported"
    assert judged("The rate does not cover fuel.", source).label == "contradicted"


def test_two_negations_undo_each_other():
    source = "Nobody has to answer after 19:00."
    assert judged("Nobody has not to answer after 19:00.", source).label == "contradicted"


@pytest.mark.parametrize(("claim", "supported"), [
    ("The fee is 15 percent of the price.", True), ("The fee is 15% of the price.", True), ("The fee is 15 euros of the price.", False),
    ("The fee is 51 % of the price.", False)])
def test_percentages(claim, supported):
    assert (judged(claim, "The fee is 15 % of the price.").label == "supported") is supported


@pytest.mark.parametrize(("claim", "supported"), [
    ("Delivery takes 3 to 5 days.", True), ("Delivery takes up to five days.", True), ("Delivery takes 3-5 weeks.", False),
    ("Delivery takes 3-6 days.", False), ("Delivery takes three to five days.", True)])
def test_ranges(claim, supported):
    assert (judged(claim, "Delivery takes 3-5 days.").label == "supported") is supported


@pytest.mark.parametrize(("claim", "supported"), [
    ("The canteen opens at 9 am.", True), ("The canteen opens at 9:00.", True), ("The canteen opens at 9 pm.", False)])
def test_times_of_day(claim, supported):
    assert (judged(claim, "The canteen opens at 09:00.").label == "supported") is supported


@pytest.mark.parametrize(("claim", "supported"), [
    ("The policy holds from 12 March 2025.", True), ("The policy holds from 2025-03-12.", True),
    ("The policy holds from 13 March 2025.", False), ("The policy holds from 12 March 2026.", False)])
def test_dates(claim, supported):
    assert (judged(claim, "The policy holds from March 12, 2025.").label == "supported") is supported


# Tables, marks, headings ----------------------------------------------------------------------------------------

def test_a_row_is_read_with_its_header():
    assert judged("The normal cap in Leeds is 105 euros.", TABLE).label == "supported"
    assert judged("The normal cap in Leeds is 165 euros.", TABLE).reasons[0].startswith("165 euros is in the source, but elsewhere")


def test_the_unit_in_the_header_counts():
    assert judged("The normal cap in Leeds is 105 pounds.", TABLE).label == "contradicted"


def test_the_window_is_the_row():
    start, end = judged("The normal cap in Leeds is 105 euros.", TABLE).window
    assert TABLE[start:end] == "| Leeds | 105 | 3 |"


def test_a_citation_mark_in_the_source_is_no_number():
    source = "The cap is set yearly [180]. In Berlin a room may cost 150 euros [1]."
    assert judged("In Berlin a room may cost 180 euros.", source).label == "contradicted"
    assert judged("In Berlin a room may cost 150 euros.", source).label == "supported"


def test_the_number_of_a_section_is_no_fact():
    assert judged("In Berlin a room may cost up to 4 euros a night.").label == "contradicted"


def test_a_value_of_another_sentence_is_not_taken():
    source = "A taxi may cost up to 40 euros a ride. A dinner with guests may cost up to 50 euros per person."
    support = judged("A dinner with guests may cost up to 40 euros per person.", source)
    assert support.label == "contradicted"
    assert support.reasons[0] == "40 euros is in the source, but elsewhere; here it has 50 euros"


def test_a_value_said_twice_where_the_source_has_it_once():
    source = "Claims are paid every Thursday if approved by Tuesday."
    assert judged("Claims are paid every Thursday if approved by Thursday.", source).label == "contradicted"


def test_an_identifier_must_be_the_same():
    source = "E-412 means that the filter is clogged."
    assert judged("E-412 means that the filter is clogged.", source).label == "supported"
    assert judged("E-421 means that the filter is clogged.", source).label == "contradicted"


def test_a_foreign_name_lowers_the_score_and_is_named():
    source = "The plant in Suzhou closes for nine days."
    other = judged("The plant in Leeds closes for nine days.", source)
    assert other.score < judged("The plant in Suzhou closes for nine days.", source).score
    assert "Leeds is not in the source" in other.reasons


# Chinese --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def attendance() -> str:
    text = next(document.text for document in rk.load_folder(rk.data_path("handbook"))
                if document.id == "suzhou-attendance")
    start = text.index("两名员工自愿互换班次")
    return text[max(0, start - 200):start + 200]


@pytest.mark.parametrize(("claim", "supported"), [
    ("两名员工自愿互换班次，须提前 48 小时填写换班单。", True), ("员工互换班次须提前48小时填写换班单，双方签字。", True),
    ("两名员工自愿互换班次，须提前 24 小时填写换班单。", False), ("两名员工自愿互换班次，不须提前 48 小时填写换班单。", False),
    ("两名员工自愿互换班次，须提前 48 天填写换班单。", False), ("食堂每天供应海鲜大餐。", False)])
def test_chinese_sentences_of_the_handbook(claim, supported, attendance, minilm):
    for judge in (WORDS, minilm, SignalJudge(MultilingualEmbedder())):
        assert (judged(claim, attendance, judge).label == "supported") is supported


def test_chinese_negation_on_one_side():
    assert judged("证书可以转让给他人。", "证书不得转让给他人。").label == "contradicted"
    assert judged("证书不得转让给他人。", "证书不得转让给他人。").label == "supported"
    assert judged("每晚不超过 600 元。", "每晚不超过 600 元。").label == "supported"


# The shape of a verdict -----------------------------------------------------------------------------------------

def test_nothing_to_read_is_unsupported_and_says_so():
    assert judged("A room costs 150 euros.", " \n") == Support(0.0, "unsupported", ("the source is empty",), (0, 0), ())
    assert judged("It is.") == Support(0.0, "unsupported", ("the claim has no content words",), (0, 0), ())


def test_a_lone_string_is_refused():
    with pytest.raises(TypeError, match="put it in a list"):
        WORDS.judge("A room costs 150 euros.", HOTELS)


def test_one_verdict_a_claim_in_order(minilm):
    claims = ["Dogs are not allowed in pool cars.", "The canteen serves fish.", "Dogs are not allowed in pool cars."]
    together = minilm.judge(claims, HOTELS)
    assert together[0] == together[2]
    assert [support.label for support in together] == ["supported", "unsupported", "supported"]
    assert minilm.judge([], HOTELS) == []


def test_the_signals_add_up_to_the_score(minilm):
    import math

    support = judged("In Berlin a room may cost up to 150 euros a night.", judge=minilm)
    total = MINILM.start + sum(share for _, share in support.signals)
    assert support.score == pytest.approx(1 / (1 + math.exp(-total)))
    assert {name for name, _ in support.signals} == {name for name, _ in MINILM.signals}


def test_an_embedder_without_known_weights_is_not_used():
    assert WORDS.name == "signals (words only)"
    assert {name for name, _ in judged("Dogs are not allowed in pool cars.").signals} == {name for name, _ in WORDS_ONLY.signals}


def test_a_verdict_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        judged("Dogs bark.").score = 1.0


@given(st.text(max_size=60), st.text(max_size=200))
@settings(deadline=None, max_examples=60)
def test_any_text_gives_a_verdict(claim, source):
    support = judged(claim, source)
    assert 0 <= support.score <= 1
    assert (support.label == "supported") <= (support.score >= WORDS_ONLY.threshold)
    assert 0 <= support.window[0] <= support.window[1] <= len(source)
    assert support.reasons


def test_four_sentences_against_four_sources_take_well_under_a_second(minilm):
    claims = ["A room costs 150 euros.", "Bookings are made 14 days ahead.", "Dogs are not allowed.", "Breakfast is included."]
    sources = [f"{HOTELS} {number}." + " The receipt is kept for the tax office." * 8 for number in range(4)]
    minilm.judge(["warm"], "warm up")
    start = time.process_time()
    for source in sources:
        minilm.judge(claims, source)
    assert time.process_time() - start < 2  # of a busy machine's processor; 0.3 s by themselves


# Over all gold answers ------------------------------------------------------------------------------------------

def supported(judge: SignalJudge, sources: tuple[str, ...], text: str) -> bool:
    return any(judge.judge([text], source)[0].label == "supported" for source in sources)


def test_true_sentences_pass_and_changed_ones_are_caught():
    """Issue 3: at least 95% each, over the sentences of all gold quotes, words and facts alone."""
    sentences = verbatim()
    passed = [supported(WORDS, item.sources, item.text) for item in sentences]
    assert len(passed) > 250
    assert sum(passed) / len(passed) >= 0.95
    caught: dict[str, list[bool]] = {}
    for item in sentences:
        for kind, text in changed(item):
            caught.setdefault(kind, []).append(not supported(WORDS, item.sources, text))
    assert set(caught) == {"number", "unit", "date", "time", "identifier", "negation added", "negation removed"}
    assert {kind: round(sum(ones) / len(ones), 3) for kind, ones in caught.items() if sum(ones) < 0.95 * len(ones)} == {}


def test_true_sentences_in_other_words_pass_and_changed_ones_are_caught(minilm):
    """As above, restated by hand: this is what an answer looks like."""
    for half in ("tune", "report"):
        sentences = [item for item in paraphrased() if item.half == half]
        assert len(sentences) >= 40
        passed = [item.text for item in sentences if supported(minilm, item.sources, item.text)]
        caught = [not supported(minilm, item.sources, text) for item in sentences for _, text in changed(item)]
        assert len(passed) >= 0.95 * len(sentences)
        assert sum(caught) >= 0.95 * len(caught)


RULES = ("# Rules of the house\n\nSmoking is forbidden everywhere in the building. Pets are allowed in the garden. The tenant may not "
         "sublet the flat. Children under 12 years must not take the lift. The pool is open from May to October, in winter it is "
         "not open.\n\n六岁以下儿童禁用。泳池每年5月1日至10月15日开放，冬季不开放。")


@pytest.mark.parametrize(("claim", "supported"), [
    ("Smoking is forbidden in the building.", True), ("Smoking is allowed in the building.", False),
    ("Pets are allowed in the garden.", True), ("Pets are forbidden in the garden.", False),
    ("Subletting the flat is not allowed.", True),  # another sentence has "allowed"
    ("The lift must not be taken by children under 12 years.", True),
    ("The lift can be taken by children under 12 years.", False),  # "must not take"
    ("The pool is open from May to October.", True), ("The pool is open in winter.", False),
    ("六岁以下的儿童禁用。", True), ("六岁以下的儿童可用。", False), ("八岁以下的儿童禁用。", False),
    ("泳池从5月1日开放到10月15日。", True), ("泳池冬季开放。", False)])
def test_what_is_allowed_here_and_denied_there(claim, supported, minilm):
    for judge in (minilm, WORDS) if claim.isascii() else (minilm,):
        assert (judged(claim, RULES, judge).label == "supported") == supported


def test_an_exception_may_turn_a_permission_around():
    source = "Smoking is forbidden except on the terrace."
    assert not [reason for reason in judged("Smoking is allowed on the terrace.", source).reasons if "the source says" in reason]


def test_a_source_that_is_no_text_is_named():
    with pytest.raises(TypeError, match="expected the source as a string, got NoneType"):
        WORDS.judge(["a claim"], None)


def test_many_numbers_in_one_claim_take_time_in_proportion():
    def seconds(count: int) -> float:
        return processor_seconds(lambda: WORDS.judge(["1 " * count], HOTELS))

    assert seconds(8_000) < 20 * max(seconds(1_000), 0.02)  # eight times as many; sixty-four if it were quadratic
