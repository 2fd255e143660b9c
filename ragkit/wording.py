"""The words of a text as matching sees them: case and endings aside, function words marked (chapters 05 to 07).

English words are case-folded and cut to their stem (Porter's English stemmer of the Snowball project: "booked",
"booking" and "books" are all "book"). Chinese is written without spaces; overlapping pairs of characters stand in
for words there, which needs no dictionary and does well in retrieval (Nie, Gao, Zhang & Zhou 2000, "On the use of
words and n-grams for Chinese information retrieval"). Numbers and identifiers stay whole.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"[^\W_{HAN}][\u0300-\u036f]*"
# A run of letters and digits with single joiners inside, cut further in code; or a run of Chinese characters.
_RUN = re.compile(rf"(?P<han>[{HAN}]+)|(?:{_LETTER})+(?:[-_/.,:'’](?:{_LETTER})+)*")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{4}-\d\d?-\d\d?|\d+(?:[./:]\d+)*")
_NUMBER_UNIT = re.compile(r"(\d+(?:[.,]\d+)*)([^\W\d_]+)")
_UNITS = frozenset("am pm s sec ms min mins h hr hrs d m km cm mm kg g mg ml l kb mb gb tb w kw v a eur usd k".split())
_PART = re.compile(r"[^-_/.,:]+")
SENTENCE = 1000  # characters: the words of texts so short are kept
_PLAIN = {0x2010: "-", 0x2011: "-", 0xFF0D: "-", 0xFF0E: "."} | {
    code: chr(code - 0xFEE0) for first, last in ("０９", "ＡＺ", "ａｚ") for code in range(ord(first), ord(last) + 1)}
_BEFORE_A_NUMBER = frozenset("mid pre post non early late since until ex".split())  # mid-2025 is no identifier

_FUNCTION_WORDS = frozenset("""
a an the this that these those some any each every either neither both all such same own other another
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs one ones
myself yourself himself herself itself ourselves themselves who whom whose which what when where why how
whatever whichever whoever someone anyone everyone something anything everything there here
am is are was were be been being do does did doing done have has had having will would shall should can could may
might must ought cannot let get gets got
and or but nor so if then else than as because while although though unless until since whether
of in on at by for with without within about against between into through during before after above below to from
up down out off over under again further onto upon per via
no not never none nothing nobody only also just too very even still yet already
don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't wouldn't can't couldn't shouldn't mustn't
i'm you're we're they're it's that's there's what's i've we've you've i'll we'll you'll
e.g i.e eg ie etc please according
""".split())
_FUNCTION_CHARACTERS = frozenset("的了吗呢吧啊呀着和与及或是在也都就之其们")
_FUNCTION_PAIRS = frozenset("""什么 怎么 怎样 如何 多少 哪些 哪个 哪里 哪儿 哪位 为何 几个 是否 可以 可否 能否 能够 应该 应当 必须 需要 如果 以及 或者 并且
而且 但是 不过 因为 所以 因此 由于 对于 关于 我们 你们 他们 她们 自己 这个 那个 这些 那些 这样 一个 一些 一下 没有 不能 不得 不会 不是 还是 请问 谁能
每个 其他 其它 通过 进行 根据 按照 为了 以下 以上""".split())

_ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
         "seventeen eighteen nineteen").split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)}


class Word(NamedTuple):
    """A word of a text: ``text[start:end] == word.text``, always.

    ``stem`` is what is compared: case-folded, without ending; "1200.5" for "1,200.50" and "12" for "twelve".
    ``is_content`` is False for function words ("the", "何"), which say nothing of what a text is about.
    """

    text: str
    stem: str
    start: int
    end: int
    is_content: bool


def words(text: str) -> list[Word]:
    """The words of ``text`` in order, in time linear in its length.

    English words are split at hyphens and slashes ("full-time": two words); identifiers ("E-412", "NV-AR2-0417"),
    numbers ("1,200.50"), times and dates are not. Chinese comes as overlapping pairs of characters, a character
    that stands alone as itself; the words overlap there.
    """
    return list(_sentence_words(text) if len(text) <= SENTENCE else _words(text))


def shortened(text: str, limit: int) -> str:
    """The text on one line, of at most ``limit`` characters; what was cut shows as "…"."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit - 1] + "…"


def content_stems(text: str) -> list[str]:
    """The stems of the content words of ``text``, in order, repeated as they are there."""
    return [word.stem for word in words(text) if word.is_content]


def plain_characters(text: str) -> str:
    """The text with full-width letters and digits, and hyphens that do not break, as the plain ones; as long as it
    was. A code typed "Ｅ－４１２" or set so that it stays on one line is the same code."""
    return text.translate(_PLAIN)


def _words(original: str) -> tuple[Word, ...]:
    text = plain_characters(original)
    found: list[Word] = []
    for run in _RUN.finditer(text):
        if run["han"]:
            found += _pairs(run[0], run.start())
        else:
            found += [Word(part, stem, run.start() + start, run.start() + start + len(part),
                           part.casefold().replace("’", "'") not in _FUNCTION_WORDS)
                      for part, start, stem in _split(run[0])]
    if text != original:
        found = [word._replace(text=original[word.start:word.end]) for word in found]
    return tuple(found)


# Grader, generator and judge read the same sentences, again and again.
_sentence_words = lru_cache(maxsize=4096)(_words)


def plain_number(text: str) -> str:
    """"1,200.50" as "1200.5", "007" as it is: one form for one value, for numbers written with digits."""
    text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if text.count(".") == 1 and text[0] != "." else text


def _pairs(run: str, offset: int) -> Iterator[Word]:
    size = min(2, len(run))
    for start in range(len(run) - size + 1):
        pair = run[start:start + size]
        is_content = pair not in _FUNCTION_PAIRS and _FUNCTION_CHARACTERS.isdisjoint(pair)
        yield Word(pair, unicodedata.normalize("NFKC", pair), offset + start, offset + start + size, is_content)


def _split(run: str) -> Iterator[tuple[str, int, str]]:
    """The words of a run as (text, start in the run, stem)."""
    plain = unicodedata.normalize("NFKC", run)
    if _NUMBER.fullmatch(plain):
        yield run, 0, plain_number(plain)
        return
    parts = [(match[0], match.start()) for match in _PART.finditer(run)]
    if len(parts) > 1 and _is_whole([part for part, _ in parts], run):
        yield run, 0, plain.casefold()
        return
    if len(parts[0][0]) == 1 and run[1:2] == "-" and len(parts) == 2 and not run[0].isdigit():
        yield run, 0, stem_of(plain.replace("-", ""))  # e-mail, x-ray
        return
    if len(parts) > 1:
        yield from _in_pieces(run, parts)
        return
    unit = _NUMBER_UNIT.fullmatch(run)
    if unit and unit[2].casefold() in _UNITS:
        yield unit[1], 0, plain_number(unit[1])
        yield unit[2], unit.start(2), stem_of(unit[2])
        return
    yield run, 0, stem_of(plain)


def _in_pieces(run: str, parts: list[tuple[str, int]]) -> Iterator[tuple[str, int, str]]:
    """The parts of a run one by one, a number and its decimals kept together ("1.5-fold", "2.5km")."""
    position = 0
    while position < len(parts):
        start = parts[position][1]
        number = _NUMBER.match(run, start) if run[start].isdigit() else None
        end = number.end() if number else start + len(parts[position][0])
        while position < len(parts) and parts[position][1] < end:
            position += 1
        if number and end < len(run) and run[end].isalnum():  # the number goes on in letters: "2.5km", "1.5x"
            last, last_start = parts[position - 1]
            yield run[start:end], start, plain_number(number[0])
            yield run[end:last_start + len(last)], end, stem_of(run[end:last_start + len(last)])
        else:
            yield run[start:end], start, plain_number(number[0]) if number else stem_of(run[start:end])


def _is_whole(parts: list[str], run: str) -> bool:
    """Whether a run with joiners is one word: an identifier (letters and digits) or "U.S"."""
    if all(len(part) == 1 and part.isalpha() for part in parts):
        return run.count(".") == len(parts) - 1
    has_digit = any(character.isdigit() for character in run)
    has_letter = any(character.isalpha() for character in run)
    if not (has_digit and has_letter) or not {",", ":", "'", "’"}.isdisjoint(run):
        return False
    unit = _NUMBER_UNIT.fullmatch(parts[0])
    starts_with_number = parts[0].isdigit() or (unit is not None and unit[2].casefold() in _UNITS)
    return not starts_with_number and parts[0].casefold() not in _BEFORE_A_NUMBER  # 12-month, 5km/h, mid-2025


# Forms that no rule for endings leads back to their verb. Other words as well ("left", "found") stay out.
_IRREGULAR = """
begin began begun, break broke broken, bring brought, build built, buy bought, choose chose chosen, come came,
draw drew drawn, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, fly flew flown,
forget forgot forgotten, freeze froze frozen, give gave given, go went gone, grow grew grown, hold held, keep kept,
know knew known, lead led, lend lent, lose lost, make made, meet met, pay paid, rise rose risen, run ran, say said,
see seen, sell sold, send sent, show shown, speak spoke spoken, spend spent, stand stood, steal stole stolen,
swim swam swum, take took taken, teach taught, tell told, think thought, throw threw thrown, wear wore worn,
write wrote written"""

_stemming = threading.Lock()  # the stemmer keeps the word it works on in itself


@lru_cache(maxsize=1)
def _stemmer():
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def stem_of(word: str) -> str:
    """The stem of one English word; a number word as its number; any other word case-folded."""
    word = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    if word in NUMBER_WORDS:
        return str(NUMBER_WORDS[word])
    if len(word) > 40 or not word.isascii():  # no English word
        return word
    with _stemming:
        return _stemmer().stemWord(word)


def base_form(stem: str) -> str:
    """The stem of the verb for that of an irregular form: "take" for "taken"; any other stem as it is."""
    return _base_forms().get(stem, stem)


@lru_cache(maxsize=1)
def _base_forms() -> dict[str, str]:
    verbs = [entry.split() for entry in _IRREGULAR.split(",")]
    return {stem_of(form): stem_of(verb) for verb, *forms in verbs for form in forms}
