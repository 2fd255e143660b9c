"""From bytes to text: byte order marks, UTF-8, UTF-16, and a decision among encodings from before Unicode.

Certain signs come first (byte order mark, valid UTF-8, the NUL pattern of UTF-16). What is left is decided by
how much of the text is made of the characters that its language uses most: kana for Japanese, Hangul
syllables for Korean, the 3,755 frequent characters of GB 2312 (level 1) for Chinese. Western text read as
Chinese gives rare characters instead, which is what tells the two apart even in a few words.
"""

import codecs
import re
from dataclasses import dataclass

# Longest first: the mark of UTF-32 LE begins with that of UTF-16 LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
# Names that pages use for a narrower encoding than the one browsers read (WHATWG Encoding Standard).
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_KANA = re.compile(r"[\u3041-\u309f\u30a1-\u30fe]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_EAST_ASIAN = re.compile(r"[\u2014-\u2026\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff60\uff65-\uff9f]")


class EncodingError(ValueError):
    """Bytes that are text in none of the encodings known here."""


@dataclass(frozen=True)
class Decoded:
    """A text, the Python name of the encoding it was read with, and what had to be mended, in words."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Read `data` as text: newlines become "\\n", the byte order mark, NULs and lone surrogates go.

    `declared` is an encoding that the file itself names (HTML); it is believed when the bytes agree.

    Raises:
        EncodingError: when the bytes look like text of no known encoding.
    """
    text, encoding, warnings = _decode(data, declared)
    text, dropped = clean_text(text)
    return Decoded(text, encoding, (*warnings, *dropped))


def declared_encoding(data: bytes) -> str | None:
    """The encoding that the head of an HTML or XML file names, as a Python name, if Python knows it."""
    found = _DECLARED.search(data[:2048])
    if not found:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None
    return None if name == "utf-7" else _WIDER.get(name, name)


def clean_text(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with "\\n" newlines, no NULs, no lone surrogates, no byte order mark; and what was dropped."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    warnings = []
    nuls = text.count("\0")
    if nuls:
        warnings.append(f"{nuls} NUL character{'s' if nuls > 1 else ''} dropped")
        text = text.replace("\0", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Pairs of surrogates are one character each; only what stays alone is dropped.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text, lone = re.subn("[\ud800-\udfff]", "", text)
        if lone:
            warnings.append(f"{lone} lone surrogate{'s' if lone > 1 else ''} dropped")
    return text, tuple(warnings)


def _decode(data: bytes, declared: str | None) -> tuple[str, str, tuple[str, ...]]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text, warnings = _decode_or_mend(data[len(mark) :], encoding)
            return text, encoding, warnings
    wide = _utf_16_by_nuls(data)
    if wide:
        text, warnings = _decode_or_mend(data, wide)
        return text, wide, warnings
    if declared and data.isascii():  # as ISO-2022-JP is, which writes Japanese in ASCII bytes
        text = _strict(data, declared)
        if text is not None:
            return text, declared, ()
    text = _strict(data, "utf-8", "surrogatepass")
    if text is not None:
        return text, "utf-8", ()
    for encoding in (declared, _utf_16_by_characters(data)):
        text = _strict(data, encoding) if encoding else None
        if text is not None:
            return text, encoding, ()
    text, warnings = _decode_or_mend(data, "utf-8")
    if sum(not char.isascii() for char in text) >= 5 * text.count("\ufffd"):
        return text, "utf-8", warnings
    legacy = _legacy(data)
    if legacy:
        return data.decode(legacy), legacy, ()
    if _is_western(data):
        return data.decode("cp1252", "ragkit_c1"), "cp1252", ()
    raise EncodingError("its character encoding cannot be told (none of UTF-8, UTF-16, GB18030, Windows-1252)")


def _strict(data: bytes, encoding: str, errors: str = "strict") -> str | None:
    try:
        return data.decode(encoding, errors)
    except (UnicodeError, LookupError):
        return None


def _decode_or_mend(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = _strict(data, encoding, "surrogatepass")
    if text is not None:
        return text, ()
    text = data.decode(encoding, "replace")
    bad = text.count("\ufffd")
    return text, (f"{bad} byte sequence{'s' if bad > 1 else ''} not valid in {encoding}, shown as \ufffd",)


def _utf_16_by_nuls(data: bytes) -> str | None:
    """UTF-16 of Western text without a mark: at least every fourth unit has a NUL, all in the same half."""
    units = len(data) // 2
    first, second = data[0::2].count(0), data[1::2].count(0)
    for encoding, many, few in (("utf-16-le", second, first), ("utf-16-be", first, second)):
        if len(data) % 2 == 0 and many and many >= 0.25 * units and few <= 0.01 * units:
            return encoding
    return None


def _utf_16_by_characters(data: bytes) -> str | None:
    """UTF-16 of East Asian text without a mark: some NUL (of a newline, of "一"), and such text comes out.

    In the other byte order, or in another encoding, the characters would be from all over Unicode.
    """
    for encoding in ("utf-16-le", "utf-16-be") if 0 in data else ():
        text = _strict(data, encoding)
        if text and len(_EAST_ASIAN.findall(text)) + len(re.findall(r"[ -~\s]", text)) >= 0.95 * len(text):
            return encoding
    return None


def _legacy(data: bytes) -> str | None:
    """Which East Asian encoding `data` is in, if it is in one: the sign of each language, strongest first."""
    for encoding in ("cp932", "euc_jp"):
        text = _strict(data, encoding)
        if text is not None and _share(_KANA, text) >= 0.15 and _share(_EAST_ASIAN, text) >= 0.9:
            return encoding
    pairs, frequent, late = _gb2312_profile(data)
    # Korean: Hangul fills rows B0 to C8 of KS X 1001 and words stand apart; four in ten characters of Chinese
    # come from later rows, and nothing stands between words. A few syllables are too few to tell.
    korean = pairs >= 10 and late <= 0.1 and re.search(rb"[\xa1-\xfe] [\xa1-\xfe]", data)
    text = _strict(data, "cp949") if korean else None
    if text is not None and _share(_HANGUL, text) >= 0.7:
        return "cp949"
    # A single pair inside Western capitals, as in "GRÖßE", may look Chinese by chance.
    chinese = frequent >= 0.5 and (pairs > 1 or not re.search(rb"[A-Za-z]", data))
    return "gb18030" if chinese and _strict(data, "gb18030") is not None else None


def _share(pattern: re.Pattern[str], text: str) -> float:
    """The share of the characters of `text` beyond ASCII that `pattern` matches."""
    beyond = sum(not char.isascii() for char in text)
    return len(pattern.findall(text)) / beyond if beyond else 0.0


def _gb2312_profile(data: bytes) -> tuple[int, float, float]:
    """Of the two-byte characters in `data` read as GB 18030: how many; the share that are punctuation or
    among the frequent characters of GB 2312 (rows A1 to A3, B0 to D7); the share in rows C9 to F7."""
    units = re.findall(rb"[\x81-\xfe][0-9][\x81-\xfe][0-9]|[\x81-\xfe][\x40-\xfe]|[\x80-\xff]", data)
    units = [unit for unit in units if len(unit) < 4]  # those of four bytes are rare signs, which say nothing
    frequent = sum(
        min(unit) >= 0xA1 and len(unit) == 2 and (unit[0] <= 0xA3 or 0xB0 <= unit[0] <= 0xD7)
        for unit in units
    )
    late = sum(0xC9 <= unit[0] <= 0xF7 for unit in units)
    return len(units), frequent / max(len(units), 1), late / max(len(units), 1)


def _is_western(data: bytes) -> bool:
    """Whether letters beyond ASCII are sprinkled among ASCII ones, as in Western European languages."""
    beyond = sum(byte >= 0x80 for byte in data)
    letters = len(re.findall(rb"[A-Za-z]", data))
    controls = len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", data))
    return controls <= 0.01 * len(data) and (beyond <= letters or beyond < 8)


def _keep_c1(error: UnicodeError) -> tuple[str, int]:
    # Five bytes have no character in cp1252; Latin-1 has control characters there.
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("ragkit_c1", _keep_c1)
