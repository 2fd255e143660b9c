"""What an answer is made from: numbered sources, and the text that they become in a prompt (chapter 06)."""

import datetime
import html
from collections.abc import Iterator
from dataclasses import dataclass, field

from ragkit.context.instructions import Suspicion
from ragkit.documents import DocumentKey
from ragkit.trace import Drop, LinkTrace

CUT = "cut_at_sentence"


@dataclass(frozen=True)
class Source:
    """One numbered piece of the context: ``document.text[start:end] == text``, always.

    Attributes:
        number: from 1, in the order in which the sources stand in the prompt.
        prefix: the header row of a table or the opening line of a code fence that the span begins inside;
            shown to the answer and read by support checks, never cited.
        page, line: where ``start`` is (``Document.locate``); None when the document was not at hand.
        source: the file the document was read from.
        chunk_ids: the pieces of evidence that are read here, best first; several after a merge.
        score: of the best of them.
        cut: whether text of these pieces was left out to keep to the budget.
        warnings: passages that address the machine rather than a reader.
    """

    number: int
    document_id: str
    version: str
    title: str
    text: str
    start: int
    end: int
    prefix: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    line: int | None = None
    source: str = ""
    effective_date: datetime.date | None = None
    content_hash: str = ""
    chunk_ids: tuple[str, ...] = ()
    score: float | None = None
    cut: bool = False
    warnings: tuple[Suspicion, ...] = ()

    @property
    def key(self) -> DocumentKey:
        """The document's id and version."""
        return DocumentKey(self.document_id, self.version)

    @property
    def header(self) -> str:
        """The one line that stands above the text in the prompt: number, title, headings, version, date, page."""
        path = self.heading_path if self.heading_path[:1] == (self.title,) else (self.title, *self.heading_path)
        place = " > ".join(one_line(part) for part in path if part.strip())
        facts = [f"version {one_line(self.version)}"]
        if self.effective_date is not None:
            facts.append(f"in force from {self.effective_date.isoformat()}")
        if self.page is not None:
            facts.append(f"page {self.page}")
        if self.cut:
            facts.append("shortened")
        return f"[{self.number}] {place} ({', '.join(facts)})"

    @property
    def shown_text(self) -> str:
        """What the answer reads: the prefix on its own line, then the text."""
        return f"{self.prefix}\n{self.text}" if self.prefix else self.text


@dataclass(frozen=True)
class Context:
    """The numbered sources under a token budget, and everything that was left out, with the reason.

    Attributes:
        sources: in the order in which they stand in ``text``; their numbers run from 1.
        text: what goes into the prompt, headers and delimiters included; "" when there is no source.
        tokens: of ``text``, as the counter gave them; never more than ``budget``.
        drops: every piece of evidence that is not a whole source of its own: ``over_budget``, ``duplicate``,
            ``overlaps [2]`` or ``adjacent to [2]`` (it is read there), ``cut_at_sentence`` (its beginning or end is
            missing), ``empty`` (a piece of white space).
        notes: what a reader of the trace should know besides, in words.
        tag: each source stands between ``<tag>`` and ``</tag>``, which occur in none of them.
    """

    sources: tuple[Source, ...]
    text: str
    tokens: int
    budget: int
    drops: tuple[Drop, ...] = ()
    notes: tuple[str, ...] = ()
    tag: str = field(default="source")

    @classmethod
    def from_texts(cls, *texts: str) -> "Context":
        """Plain texts as sources 1 to n (documents "text-1" and so on), for teaching and for tests.

        The budget is what they need.
        """
        from ragkit.context.fence import enclose
        from ragkit.context.instructions import find_instructions
        from ragkit.context.tokens import count_tokens

        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"each text must be a string, not {text!r:.80}; texts in a list are given with a star")
        sources = tuple(Source(number, f"text-{number}", "1", f"text-{number}", text, 0, len(text),
                               warnings=tuple(find_instructions(text)))
                        for number, text in enumerate(texts, start=1))
        text, tag = enclose(sources)
        tokens = count_tokens(text) if sources else 0
        return cls(sources, text, tokens, tokens, tag=tag)

    def __getitem__(self, number: int) -> Source:
        """The source of that number (from 1)."""
        if number not in self:
            have = f"1 to {len(self.sources)}" if self.sources else "none"
            raise KeyError(f"there is no source [{number}]; the context has {have}")
        return self.sources[number - 1]

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 1 <= number <= len(self.sources)

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def link(self, milliseconds: float = 0.0) -> LinkTrace:
        """This step as a link of the trace; a source that was only shortened is in its notes, not in its drops."""
        begun = {source.chunk_ids[0] for source in self.sources if source.chunk_ids}
        shortened = [drop for drop in self.drops if drop.reason == CUT and drop.chunk_id in begun]
        left_out = tuple(drop for drop in self.drops if drop not in shortened)
        cuts = tuple(f"{drop.chunk_id}: {drop.reason} ({drop.detail})" for drop in shortened)
        return LinkTrace("context", len(self.sources) + len(left_out), len(self.sources), left_out,
                         notes=(*self.notes, *cuts), milliseconds=milliseconds)

    def __repr__(self) -> str:
        # The whole text would fill pages; it is in ``text``.
        count = f"{len(self.sources)} source{'' if len(self.sources) == 1 else 's'}"
        reasons = [drop.reason for drop in self.drops]
        joined = sum(reason.startswith(("overlaps ", "adjacent to ")) for reason in reasons)
        cut = reasons.count(CUT)
        return (f"Context({count}, {self.tokens} of {self.budget} tokens, "
                f"{joined} joined, {cut} cut, {len(reasons) - joined - cut} left out)")

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left;vertical-align:top'>{html.escape(source.header)}</td>"
            f"<td style='text-align:left;white-space:pre-wrap'>{_marked(source)}</td></tr>" for source in self)
        lines = [f"{drop.chunk_id}: {drop.reason}" + (f" ({drop.detail})" if drop.detail else "")
                 for drop in self.drops] + [f"note: {note}" for note in self.notes]
        more = "".join(f"<br><small>{html.escape(line)}</small>" for line in lines)
        return (f"<table><thead><tr><th style='text-align:left'>source</th><th style='text-align:left'>text</th></tr>"
                f"</thead><tbody>{rows}</tbody></table>{self.tokens} of {self.budget} tokens{more}")


def one_line(text: str) -> str:
    """The text with every run of white space, line ends included, as one blank: a title cannot open a line."""
    return " ".join(text.split())


def _marked(source: Source) -> str:
    """The source's text in HTML; what addresses the machine is marked, with the reason as its tooltip."""
    parts = [html.escape(source.prefix) + "\n"] if source.prefix else []
    position = 0
    for warning in sorted(source.warnings, key=lambda warning: warning.start):
        if warning.start < position:
            continue
        parts += [html.escape(source.text[position:warning.start]),
                  f"<mark title='{html.escape(warning.reason, quote=True)}'>&#9888; ",
                  html.escape(source.text[warning.start:warning.end]), "</mark>"]
        position = warning.end
    return "".join([*parts, html.escape(source.text[position:])])
