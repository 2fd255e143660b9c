"""A checked answer for people to read: Markdown and plain text here, HTML in ``footnotes`` (chapter 07).

Answer, question, titles and documents are data. Whatever markup is in them is shown as the characters it consists
of: nothing in them becomes a link, a picture, a heading or a script.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragkit.citations.citation import Citation, cite, citations_of
from ragkit.citations.marks import CitationMark
from ragkit.citations.verify import (
    CONTRADICTED,
    SIGNS,
    SUPPORTED,
    SentenceVerdict,
    Verification,
    as_context,
    verdict_words,
)
from ragkit.context import Context
from ragkit.documents import Document, DocumentKey

Documents = Mapping[DocumentKey, Document]

_ANYWHERE = re.compile(r"([\\`*_\[\]<>|~$@^])|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_LINE_START = re.compile(r"^([ \t]*)(?=[#+=:-]|\d+[.)])(\d*)", re.MULTILINE)
_QUOTED = 300  # characters of a quote in a list of sources; the place says where the rest is


class Segment(NamedTuple):
    """A piece of an answer: plain text, the marks written at one place, or the end of a checked sentence."""

    text: str
    marks: tuple[CitationMark, ...] = ()
    sentence: SentenceVerdict | None = None


def segments(verification: Verification) -> Iterator[Segment]:
    """The answer piece by piece; the texts together are the answer."""
    answer, position = verification.answer, 0
    parts: dict[tuple[int, int], list[CitationMark]] = {}
    for mark in verification.marks:
        parts.setdefault((mark.start, mark.end), []).append(mark)
    ends = {sentence.end: sentence for sentence in verification.claims}
    stops = sorted([(end, end) for end in ends] + list(parts))
    for start, end in stops:
        if start > position:
            yield Segment(answer[position:start])
        if start == end:
            yield Segment("", sentence=ends[end])
        else:
            yield Segment(answer[start:end], tuple(parts[start, end]))
        position = end
    yield Segment(answer[position:])


def verdict_note(sentence: SentenceVerdict) -> str:
    """The sentence's verdict as a sign and words; only the sign when it is supported by what it cites."""
    plain = sentence.label == SUPPORTED and sentence.cited
    return SIGNS[SUPPORTED] if plain else verdict_words(sentence)


def printable(text: str) -> str:
    """The text with control characters and those that turn the writing direction made visible as "�".

    A terminal obeys the first, and the second can show a reader another text than is there.
    """
    return "".join("�" if unicodedata.category(char) == "Cc" and char not in "\n\t" or char in
                   "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" else char for char in text)


def render_text(answer: str, verification: Verification, context: Context, documents: Documents | None = None) -> str:
    """The answer as plain text, then what is wrong with it, then the passages it cites.

    Raises:
        ValueError: when the verification is of another answer or of other sources.
    """
    context = check_same(answer, verification, context)
    text = "".join(_plain(segment, context) for segment in segments(verification))
    lines = [text, *_faults(verification)]
    cited = citations_of(verification, context, documents)
    if cited:
        lines += ["", "Sources:"]
    for citation in cited:
        lines += [f"[{citation.number}] {_one_line(citation.place)}", f'    "{_short(citation)}"']
    return printable("\n".join(lines))


def render_markdown(answer: str, verification: Verification, context: Context,
                    documents: Documents | None = None) -> str:
    """As ``render_text``, in Markdown: the passages as quotations. All markup in the texts is escaped."""
    context = check_same(answer, verification, context)
    text = "".join(_plain(segment, context) for segment in segments(verification))
    blocks = [_lines(text)]
    blocks += [f"- {escape_markdown(fault)}" for fault in _faults(verification)]
    cited = citations_of(verification, context, documents)
    if cited:
        blocks.append("**Sources**")
    for citation in cited:
        blocks += [f"**\\[{citation.number}\\]** {escape_markdown(_one_line(citation.place))}",
                   f"> {escape_markdown(_short(citation))}"]
    return "\n\n".join(blocks) + "\n"


def escape_markdown(text: str) -> str:
    """The text so that Markdown (CommonMark 0.31, GitHub's) shows its characters and makes nothing of them."""
    text = printable(text).replace("&", "&amp;")
    text = _ANYWHERE.sub(lambda match: "\\" + match[0], text)
    return _LINE_START.sub(lambda match: match[2] + "\\", text)


def passages(sentence: SentenceVerdict) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of the passages that speak for or against the sentence."""
    for one in sentence.support:
        if one.relevant or one.support.label in (SUPPORTED, CONTRADICTED):
            yield one.number, one.start, one.end


def check_same(answer: str, verification: Verification, context: Context | Sequence[str]) -> Context:
    """The context; a verification of another text, or against other sources, would put its verdicts in wrong places."""
    if answer != verification.answer:
        raise ValueError(f"the verification is of another answer ({verification.answer[:40]!r}); verify this one first")
    context = as_context(context)
    lost = sorted({number for sentence in verification.sentences for number in sentence.cited if number not in context})
    if lost:
        raise ValueError(f"the verification read [{lost[0]}], which this context ({len(context)} sources) has not; "
                         "give the context that the answer was verified with")
    return context


def source_citation(context: Context, number: int, documents: Documents | None) -> Citation:
    """The whole source as a citation."""
    source = context[number]
    return cite(source, source.start, source.end, documents)


def _plain(segment: Segment, context: Context) -> str:
    if segment.sentence is not None:
        note = verdict_note(segment.sentence)
        return f" ({note})" if len(note) > 1 else ""
    missing = [mark.number for mark in segment.marks if mark.number not in context]
    if not missing:
        return segment.text
    note = "no such source" if len(missing) == len(segment.marks) else f"no source {', '.join(map(str, missing))}"
    inside = segment.text.rstrip("]］】")
    return f"{inside}: {note}{segment.text[len(inside):]}"


def _faults(verification: Verification) -> list[str]:
    return [f"{SIGNS[sentence.label]} {_one_line(sentence.claim or sentence.text)}: {'; '.join(sentence.reasons)}"
            for sentence in verification.claims if sentence.label != SUPPORTED or sentence.missing]


def _lines(text: str) -> str:
    """Every line of the text as a line of its own in Markdown."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join("  \n".join(escape_markdown(line.strip()) for line in paragraph.split("\n"))
                       for paragraph in paragraphs)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(citation: Citation) -> str:
    quote = _one_line(citation.quote)
    return quote if len(quote) <= _QUOTED else quote[:_QUOTED - 1] + "…"
