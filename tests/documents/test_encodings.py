"""Bytes to text."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.documents.encodings import EncodingError, clean_text, declared_encoding, decode

CHINESE = "报销政策适用于所有员工。出差住宿上限为每晚五百元，超出部分须经经理批准。\n请在三十天内提交票据。"
JAPANESE = "出張費の精算は、帰社後三十日以内に申請してください。ホテルの上限は一泊一万円です。"
KOREAN = "출장 경비는 복귀 후 삼십 일 이내에 신청해 주십시오. 숙박비 한도는 하루 십만 원입니다."
FRENCH = "Le café à volonté est réservé aux employés; à Noël, les frais d'hôtel sont plafonnés."


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        ("Café, naïve, Größe", "latin-1", "cp1252"),
        ("naïve Größe", "latin-1", "cp1252"),
        ("GRÖßE", "latin-1", "cp1252"),
        ("Ärzte", "latin-1", "cp1252"),
        ("señor", "latin-1", "cp1252"),
        (FRENCH, "latin-1", "cp1252"),
        ("“œuvre” – 5 €", "cp1252", "cp1252"),
        ("报销政策", "gb18030", "gb18030"),
        ("员工手册", "gb18030", "gb18030"),
        ("iPhone 手机补贴", "gb18030", "gb18030"),
        ("生僻字𠀀很少。", "gb18030", "gb18030"),
        ("報銷政策適用於所有員工。", "gb18030", "gb18030"),
        (CHINESE, "gb18030", "gb18030"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (KOREAN, "euc_kr", "cp949"),
        (CHINESE, "utf-8", "utf-8"),
        ("plain ASCII", "ascii", "utf-8"),
        ("plain text", "utf-16-le", "utf-16-le"),
        ("plain text", "utf-16-be", "utf-16-be"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
    ],
)
def test_short_texts_without_a_mark(text, written, found):
    decoded = decode(text.encode(written))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, found, ())


MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
CLEAN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"))


@given(text=CLEAN, encoding=st.sampled_from(sorted(MARKS)))
def test_a_mark_decides_and_never_stays(text, encoding):
    assert decode(MARKS[encoding] + text.encode(encoding)).text == text


@given(CLEAN)
def test_valid_utf_8_comes_back(text):
    assert decode(text.encode("utf-8")).text == text


@given(
    st.lists(
        st.sampled_from("的一是不了人在有我他这中大来上个国到说们报销政策员工出差住宿费用审批提交合同"),
        min_size=4,
    )
    .map("".join)
    # Of "一说员住同" alone the bytes are valid UTF-8, which goes first: nobody could tell them apart.
    .filter(lambda text: not set(text) <= set("一说员住同"))
)
def test_frequent_chinese_characters_come_back_from_gb18030(text):
    assert decode(text.encode("gb18030")).text == text


@given(st.lists(st.sampled_from(["café", "naïve", "Größe", "señor", "hôtel", "the", "policy"]), min_size=1))
def test_western_words_come_back_from_latin_1(words):
    text = " ".join(words) + ".\n"
    assert decode(text.encode("latin-1")).text == text


@given(st.lists(st.sampled_from(KOREAN.replace(".", "").split()), min_size=12).map(" ".join))
def test_korean_words_come_back_from_euc_kr(text):
    assert decode(text.encode("euc_kr")).text == text


@given(
    st.lists(
        st.sampled_from(["出張費の", "精算は", "申請してください。", "ホテルの", "上限です。"]), min_size=3
    ).map("".join),
    st.sampled_from(["shift_jis", "euc_jp"]),
)
def test_japanese_comes_back(text, encoding):
    assert decode(text.encode(encoding)).text == text


@given(st.binary(), st.sampled_from([None, "gb18030", "cp1252", "hex", "no-such"]))
def test_any_bytes_give_clean_text_or_an_encoding_error(data, declared):
    try:
        text = decode(data, declared).text
    except EncodingError:
        return
    text.encode("utf-8")  # no lone surrogates
    assert "\0" not in text and "\r" not in text


def test_newlines_become_one_kind():
    assert decode(b"a\r\nb\rc\n").text == "a\nb\nc\n"


def test_nuls_and_lone_surrogates_are_dropped_and_counted():
    assert clean_text("a\0b\0\ud800c") == ("abc", ("2 NUL characters dropped", "1 lone surrogate dropped"))
    assert clean_text("\ud83d\ude00 \udc00") == ("😀 ", ("1 lone surrogate dropped",))
    decoded = decode(b"a\0bcdefgh \xed\xa0\x80 \xe4\xb8\xad")
    assert decoded.text == "abcdefgh  中"
    assert decoded.warnings == ("1 NUL character dropped", "1 lone surrogate dropped")
    assert decode(codecs.BOM_UTF16_LE + b"a\0\0\xd8b\0").text == "ab"


def test_a_damaged_byte_does_not_turn_utf_8_into_something_else():
    data = CHINESE.encode("utf-8")[:-1]
    decoded = decode(data)
    assert decoded.text == CHINESE[:-1] + "\ufffd"
    assert decoded.warnings == ("1 byte sequence not valid in utf-8, shown as \ufffd",)


def test_bytes_that_cp1252_does_not_have_do_not_stop_it():
    assert decode(b"caf\xe9 \x81 au lait").text == "café \x81 au lait"


@pytest.mark.parametrize(
    "data", ["Привет, коллеги, это наш справочник".encode("cp1251"), bytes(range(256)) * 4]
)
def test_what_cannot_be_told_is_refused(data):
    with pytest.raises(EncodingError, match="cannot be told"):
        decode(data)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'<meta charset="gb2312">', "gb18030"),
        (b"<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "cp932"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?>', "cp1252"),
        (b"<meta charset=utf-7>", None),
        (b"<meta charset=klingon>", None),
        (b"<p>charset=gbk</p>", None),
    ],
)
def test_declared_encodings(head, expected):
    assert declared_encoding(head) == expected


def test_a_declaration_is_believed_only_when_the_bytes_agree():
    assert decode("привет".encode("cp1251"), "cp1251").text == "привет"
    assert decode(CHINESE.encode("utf-8"), "gb18030").text == CHINESE
    assert decode(JAPANESE.encode("iso2022_jp"), "iso2022_jp").text == JAPANESE
