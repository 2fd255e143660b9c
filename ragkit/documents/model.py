"""What a loaded document is: text, metadata, and the way from places to pages and headings (chapter 01)."""

import datetime
import hashlib
import json
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ragkit.documents.structure import Heading, find_headings

PDF = "application/pdf"


class DocumentError(ValueError):
    """A file that cannot become a document. `reason` says why, `advice` what to do about it."""

    def __init__(self, source: str, reason: str, advice: str):
        super().__init__(f"{source}: {reason}. {advice}")
        self.source, self.reason, self.advice = source, reason, advice


class DocumentKey(NamedTuple):
    """What identifies a document: one id may exist in several versions."""

    id: str
    version: str


@dataclass(frozen=True)
class Page:
    """A page of a PDF, counted from 1, and the span of its text in `document.text` (empty for a scan)."""

    number: int
    start: int
    end: int


@dataclass(frozen=True)
class Location:
    """Where a span begins: page (None without pages), line, and the headings above it.

    The line is counted from 1, in what a reader can open: for Markdown and TXT it is the line of the source
    file, front matter included; for a PDF the line of the text of its page; for HTML and DOCX, whose files
    have no such lines, the line of the extracted text.
    """

    page: int | None
    line: int
    heading_path: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """A text with what must be known to search, filter and cite it.

    `text` is what is searched, and every span counts its characters. For Markdown it is the source after the
    front matter, marks included, so that quotes are exact; for HTML and DOCX the extracted text, with
    headings, tables and code written as Markdown; for PDF the texts of the pages, joined by an empty line.
    Lines end in "\\n". `source` is relative to the loaded folder, with forward slashes. A reader sees the
    document when one of the reader's groups, or "public", is in `audience`.

    `headings` are found in the text when none are given (not in a PDF, whose text has no marks).
    `first_line` is the line of the source file on which `text` begins: 1, or more after front matter.
    `content_hash` is the SHA-256 of text and metadata, in hexadecimal digits; where the file puts them
    (`source`, `first_line`) has no part in it.

    Raises:
        ValueError: for an empty id or version, a version with an @, an empty audience, a first line below 1, or
            a heading or page outside the text.
        TypeError: when effective_date is not a datetime.date: dates are never compared as strings.
    """

    id: str
    title: str
    text: str
    source: str = ""
    media_type: str = "text/plain"
    topic: str | None = None
    effective_date: datetime.date | None = None
    version: str = "1"
    audience: frozenset[str] = frozenset({"public"})
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    content_hash: str = ""
    first_line: int = 1

    def __post_init__(self):
        for name in ("id", "version"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"the {name} of a document must be a string with text in it, not {value!r}")
        if "@" in self.version:  # a chunk's id is ID@VERSION:…, and must name one document only
            raise ValueError(f"the version of {self.id!r} must not hold an @, as {self.version!r} does")
        day = self.effective_date
        if day is not None and (not isinstance(day, datetime.date) or isinstance(day, datetime.datetime)):
            raise TypeError(f"effective_date must be a datetime.date or None, not {day!r}")
        audience = {self.audience} if isinstance(self.audience, str) else self.audience
        self._set("audience", frozenset(audience))
        if not self.audience:
            raise ValueError(f'the audience of {self.id!r} is empty; name a group, or "public" for everybody')
        if self.first_line < 1:
            raise ValueError(f"the first line of {self.id!r} must be at least 1, not {self.first_line!r}")
        if not self.headings and self.media_type != PDF:
            self._set("headings", tuple(find_headings(self.text)))
        for part in (*self.headings, *self.pages):
            if not 0 <= part.start <= part.end <= len(self.text):
                raise ValueError(
                    f"{part} is outside the text of {self.id!r} ({len(self.text)} characters); "
                    "leave headings and pages out when the text is new"
                )
        if not self.content_hash:
            self._set("content_hash", self._hash())

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the way into a frozen dataclass while it is being made

    def _hash(self) -> str:
        metadata = [self.id, self.version, self.title, self.topic, sorted(self.audience), self.media_type]
        day = self.effective_date.isoformat() if self.effective_date else None
        # JSON in ASCII: any text has exactly one form, and neighbouring fields cannot run into each other.
        return hashlib.sha256(json.dumps([*metadata, day, self.text]).encode("ascii")).hexdigest()

    @property
    def key(self) -> DocumentKey:
        return DocumentKey(self.id, self.version)

    def locate(self, start: int, end: int) -> Location:
        """Page, line and heading path of the place where the span `text[start:end]` begins.

        Raises:
            ValueError: when the span is not inside the text.
        """
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(
                f"the span ({start}, {end}) is not inside the text of {self.id!r}, "
                f"which has {len(self.text)} characters"
            )
        index = bisect_right([page.start for page in self.pages], start) - 1
        page = self.pages[index] if index >= 0 else None
        return Location(
            page=page.number if page else None,
            line=self.text.count("\n", page.start, start) + 1
            if page
            else self.text.count("\n", 0, start) + self.first_line,
            heading_path=self.heading_path_at(start),
        )

    def heading_path_at(self, position: int) -> tuple[str, ...]:
        """The titles of the headings that `position` is under, outermost first; a heading is under itself.

        A deeper level may be skipped: "# A", "### B", "### C" gives C the path ("A", "C").
        """
        starts, paths = self._heading_paths
        index = bisect_right(starts, position) - 1
        return paths[index] if index >= 0 else ()

    @cached_property
    def _heading_paths(self) -> tuple[list[int], list[tuple[str, ...]]]:
        open_headings: list[Heading] = []
        paths = []
        for heading in self.headings:
            while open_headings and open_headings[-1].level >= heading.level:
                open_headings.pop()
            open_headings.append(heading)
            paths.append(tuple(above.title for above in open_headings))
        return [heading.start for heading in self.headings], paths
