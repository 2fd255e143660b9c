"""A checked answer as HTML: footnotes that open their source at the very passage (chapter 07).

Works without a script. JupyterLab scrolls to what a link names, but opens no <details> that hides it, so the
sources that are cited are open from the start. A notebook that is not trusted loses the styles, not the meaning:
lines, marked passages and verdicts are elements and words.
"""

import hashlib
import html

from ragkit.citations.citation import cite, unchanged
from ragkit.citations.render import (
    Documents,
    Segment,
    check_same,
    passages,
    printable,
    segments,
    source_citation,
    verdict_note,
)
from ragkit.citations.verify import SUPPORTED, SentenceVerdict, Verification
from ragkit.context import Context, Source

_AROUND = 300  # characters of the document before and after the source
_STYLE = (
    "<style>.rk-answer {line-height: 1.5; max-width: 56em} .rk-answer sup {line-height: 0} .rk-answer details "
    "{margin: 4px 0} .rk-answer summary {cursor: pointer} .rk-answer .rk-document {border-left: 3px solid #88888888; "
    "padding-left: 10px; margin: 4px 0 4px 6px; max-height: 16em; overflow: auto} .rk-answer .rk-around "
    "{opacity: 0.65} .rk-answer mark {background: #FFE58A; color: #000000; border-bottom: 2px solid #0072B2} "
    ".rk-answer mark:target {outline: 2px solid #D55E00}</style>")


def render_html(answer: str, verification: Verification, context: Context, documents: Documents | None = None) -> str:
    """The answer for Jupyter: each footnote mark links to the passage it cites, shown in its document (chapter 07).

    The sources listed are those that were packed into the context, no others. All text is escaped. Anchors
    contain a hash of what is shown, so that two answers on one page do not get into each other's way.

    Args:
        documents: with them a source is shown with what stands around it, and its passages with page and line.

    Raises:
        ValueError: when the verification is of another answer or of other sources.
    """
    context = check_same(answer, verification, context)
    return _Page(verification, context, documents).html()


class _Page:
    def __init__(self, verification: Verification, context: Context, documents: Documents | None):
        self._verification, self._context, self._documents = verification, context, documents
        shown = "\0".join([verification.answer, context.text])
        self._id = "rk-" + hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self._marked = {source.number: _merged([(start, end) for sentence in verification.sentences
                                                for number, start, end in passages(sentence)
                                                if number == source.number])
                        for source in context}

    def html(self) -> str:
        verification = self._verification
        text = "".join(self._segment(segment) for segment in segments(verification))
        reasons = [f"<li>{_escape(' '.join(sentence.text.split()))}: {_escape('; '.join(sentence.reasons))}</li>"
                   for sentence in verification.claims if sentence.label != SUPPORTED or sentence.missing]
        why = f"<details><summary>What is wrong</summary><ul>{''.join(reasons)}</ul></details>" if reasons else ""
        sources = "".join(self._source(source) for source in self._context) or "<p>There are no sources.</p>"
        return (f"{_STYLE}<div class='rk-answer'><div class='rk-text'>{text}</div><p>{self._summary()}</p>{why}"
                f"<div>{sources}</div></div>")

    def _summary(self) -> str:
        claims = self._verification.claims
        good = sum(sentence.label == SUPPORTED and bool(sentence.cited) for sentence in claims)
        if not claims:
            return "No sentence here claims anything."
        return (f"{good} of {len(claims)} {'sentence' if len(claims) == 1 else 'sentences'} that claim something "
                f"{'is' if good == 1 else 'are'} supported by what {'it cites' if good == 1 else 'they cite'} "
                "(&#10003;).")

    def _segment(self, segment: Segment) -> str:
        if segment.sentence is not None:
            return self._note(segment.sentence)
        if not segment.marks:
            return _lines(segment.text)
        number = next((mark.number for mark in segment.marks if mark.number in self._context), None)
        missing = [mark.number for mark in segment.marks if mark.number not in self._context]
        written = _lines(segment.text)
        if number is not None:
            written = f"<a href='#{self._target(number, segment.marks[0].start)}'>{written}</a>"
        if missing:
            written += f" <b>(no source {', '.join(map(str, missing))})</b>"
        return f"<sup>{written}</sup>"

    def _note(self, sentence: SentenceVerdict) -> str:
        note = verdict_note(sentence)
        if len(note) == 1:
            return f"<span title='supported by what it cites' aria-label='supported'>{note}</span>"
        return f" <b title='{_escape('; '.join(sentence.reasons))}'>({_escape(note)})</b>"

    def _target(self, number: int, place: int) -> str:
        """The anchor of the passage that the mark at ``place`` of the answer cites; the source's own without one."""
        for sentence in self._verification.sentences:
            if sentence.start <= place < sentence.end:
                for cited, start, _ in passages(sentence):
                    if cited == number:
                        spans = enumerate(self._marked[number])
                        return f"{self._id}-{number}-{next(n for n, span in spans if span[0] <= start < span[1])}"
        return f"{self._id}-{number}"

    def _source(self, source: Source) -> str:
        marked = self._marked[source.number]
        cited = any(source.number in sentence.cited for sentence in self._verification.sentences)
        place = source_citation(self._context, source.number, self._documents).place
        facts = [f"in force from {source.effective_date.isoformat()}" if source.effective_date else "",
                 "" if cited else "not cited"]
        more = "".join(f", {fact}" for fact in facts if fact)
        warned = "".join(f"<p><b>&#9888; Text that addresses the machine</b> ({_escape(one.reason)}): "
                         f"{_escape(one.text)}</p>" for one in source.warnings)
        places = dict.fromkeys(cite(source, *span, self._documents).place for span in marked)
        listed = "".join(f"<li>{_escape(where)}</li>" for where in places if where != place)
        where = f"Marked:<ul>{listed}</ul>" if listed else ""
        is_open = " open" if cited else ""
        return (f"<details id='{self._id}-{source.number}'{is_open}><summary><b>[{source.number}]</b> {_escape(place)}"
                f"{more}</summary>{warned}<div class='rk-document'>{self._excerpt(source)}</div>{where}</details>")

    def _excerpt(self, source: Source) -> str:
        """The source in its document, with the cited passages marked."""
        document = unchanged(source, self._documents)
        before = after = ""
        if document is not None:
            before, after = _around(document.text, source.start, source.end)
        prefix = f"<span class='rk-around'>{_lines(source.prefix)}</span><br>" if source.prefix and not before else ""
        parts = [prefix, f"<span class='rk-around'>{_lines(before)}</span>" if before else ""]
        position = source.start
        for number, (start, end) in enumerate(self._marked[source.number]):
            parts += [_lines(source.text[position - source.start:start - source.start]),
                      f"<mark id='{self._id}-{source.number}-{number}'>",
                      _lines(source.text[start - source.start:end - source.start]), "</mark>"]
            position = end
        parts.append(_lines(source.text[position - source.start:]))
        parts.append(f"<span class='rk-around'>{_lines(after)}</span>" if after else "")
        return "".join(parts)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after a span, up to a few lines, with "…" where it goes on."""
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    before, after = text[first:start], text[end:last]
    if first > 0:
        before = "…" + before[max(0, before.find(" ")):]
    if last < len(text):
        after = after[:after.rfind(" ") if " " in after else len(after)] + " …"
    return before, after


def _escape(text: str) -> str:
    return html.escape(printable(text), quote=True)


def _lines(text: str) -> str:
    """Escaped, with its lines and indents."""
    return _escape(text).replace("\n", "<br>").replace("  ", "&nbsp; ")
