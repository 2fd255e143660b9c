import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.wording import content_stems, words

MIXED = st.text(alphabet=st.sampled_from("aBn éß'’.,-_/:0159 \n[]|#中文的不Ⅷ１𠀀"), max_size=60)


def stems(text: str) -> list[str]:
    return [word.stem for word in words(text)]


@given(st.one_of(st.text(max_size=80), MIXED))
@settings(deadline=None)
def test_spans_are_exact_and_in_order(text):
    found = words(text)
    assert [text[word.start:word.end] for word in found] == [word.text for word in found]
    assert all(word.text and word.stem for word in found)
    starts = [word.start for word in found]
    assert starts == sorted(set(starts))


@given(st.one_of(st.text(max_size=80), MIXED))
@settings(deadline=None)
def test_every_letter_and_digit_is_in_a_word(text):
    covered = {position for word in words(text) for position in range(word.start, word.end)}
    assert {position for position, character in enumerate(text) if character.isalnum()} <= covered


def test_endings_and_case_do_not_matter():
    assert stems("Booked booking books BOOK") == ["book"] * 4


def test_content_words_are_kept_in_order_and_repeated():
    assert content_stems("The hotel, and what the hotels may cost") == ["hotel", "hotel", "cost"]


@pytest.mark.parametrize("whole", ["E-412", "NV-AR2-0417", "TR-14", "1,200.50", "192.168.0.1", "09:30", "2025-03-12",
                                   "COVID-19", "24/7", "7F-22", "U.S"])
def test_identifiers_numbers_times_and_dates_stay_whole(whole):
    assert [word.text for word in words(f"see {whole}, then go.")][1] == whole


@pytest.mark.parametrize(("text", "parts"), [
    ("full-time", ["full", "time"]), ("12-month", ["12", "month"]), ("mid-2025", ["mid", "2025"]),
    ("3-5", ["3", "5"]), ("end.Next", ["end", "Next"]), ("9am", ["9", "am"]), ("2.5km", ["2.5", "km"]),
    ("and/or", ["and", "or"]), ("1.5-fold", ["1.5", "fold"])])
def test_compounds_fall_apart(text, parts):
    assert [word.text for word in words(text)] == parts


@pytest.mark.parametrize(("one", "other"), [("twelve", "12"), ("1,200.50", "1200.5"), ("１２", "12"), ("e-mail", "email"),
                                            ("don’t", "don't"), ("company's", "company")])
def test_two_ways_to_write_one_word_have_one_stem(one, other):
    assert stems(one) == stems(other)


def test_chinese_comes_as_overlapping_pairs():
    assert [word.text for word in words("住宿上限600元")] == ["住宿", "宿上", "上限", "600", "元"]


def test_chinese_function_words_are_no_content():
    assert content_stems("住宿的上限是什么") == ["住宿", "上限"]


def test_an_unassigned_or_combining_character_breaks_nothing():
    assert [word.text for word in words("cafe\u0301 na\u00efve")] == ["cafe\u0301", "na\u00efve"]
    assert stems("cafe\u0301") == stems("caf\u00e9")


def test_the_stemmer_gives_the_same_in_many_threads():
    from concurrent.futures import ThreadPoolExecutor

    from ragkit.wording import stem_of

    sample = [f"{word}{ending}" for word in ("travel", "book", "claim", "refund", "measur") for ending in ("s", "ed", "ing", "ings")]
    alone = [stem_of.__wrapped__(word) for word in sample]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stem_of.__wrapped__, sample * 50)) == alone * 50


@pytest.mark.parametrize(("form", "verb"), [("taken", "take"), ("drunk", "drink"), ("written", "writes"), ("made", "making"),
                                            ("founded", "founded"), ("left", "left")])
def test_an_irregular_form_has_the_stem_of_its_verb(form, verb):
    from ragkit.wording import base_form, stem_of

    assert base_form(stem_of(form)) == stem_of(verb)


@pytest.mark.parametrize("code", ["E\u2010412", "E\u2011412", "Ｅ－４１２", "Ｅ-412"])
def test_a_code_is_the_same_in_full_width_and_with_a_hyphen_that_does_not_break(code):
    text = f"Press reset after {code}, twice."
    found = next(word for word in words(text) if "412" in word.stem)
    assert (found.text, found.stem) == (code, "e-412") and text[found.start:found.end] == code
    assert [word.stem for word in words(text)] == [word.stem for word in words("Press reset after E-412, twice.")]
