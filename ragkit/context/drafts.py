"""Pieces of evidence on their way into a context: not yet numbered, joined and cut as needed (chapter 06)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ragkit.context.model import Source
from ragkit.context.units import Unit, cut_units
from ragkit.documents import Document, DocumentKey
from ragkit.hits import Hit

Documents = Mapping[DocumentKey, Document]
_HEADER = re.compile(r"[ \t]*(?:\||`{3,}|~{3,})")
_SPAN_OF_ID = re.compile(r":L\d+:(\d+)-(\d+)$")


@dataclass(frozen=True)
class Draft:
    """A source without its number.

    Attributes:
        source: the span as it stands now.
        ranks: places in the evidence of the pieces that are read here, best first.
        anchor: the span, in the document, of the child that was found: the last that should be cut away. It is
            empty, at the start, where the piece itself was found.
    """

    source: Source
    ranks: tuple[int, ...]
    anchor: tuple[int, int]

    @classmethod
    def of(cls, hit: Hit, rank: int, documents: Documents) -> "Draft":
        """The piece in whole.

        Raises:
            ValueError: the document given is not the one that the chunk was cut from.
        """
        chunk = hit.chunk
        headings, header = _split_prefix(chunk.prefix)
        source = Source(0, chunk.document_id, chunk.version, _title(headings, chunk.heading_path, chunk.document_id),
                        chunk.text, chunk.start, chunk.end, header, chunk.heading_path,
                        chunk_ids=(chunk.id,), score=hit.score)
        document = documents.get(source.key)
        if document is not None:
            if document.text[chunk.start:chunk.end] != chunk.text:
                raise ValueError(f"the chunk {chunk.id} is not in the document {document.id!r} as it was given; the "
                                 "document has changed since: index it anew, or give the one that was indexed")
            source = replace(_located(source, document), title=document.title, source=document.source,
                             effective_date=document.effective_date, content_hash=document.content_hash)
        return cls(source, (rank,), _anchor(hit))

    def touches(self, other: "Draft", documents: Documents) -> bool:
        """Whether both are of one document and overlap, or have nothing but white space between them."""
        if self.source.key != other.source.key:
            return False
        first, second = sorted((self.source, other.source), key=lambda source: (source.start, source.end))
        if second.start <= first.end:
            return True
        document = documents.get(first.key)
        return document is not None and document.text[first.end:second.start].isspace()

    def overlaps(self, other: "Draft") -> bool:
        """Whether a character of one is in the other, for drafts that touch."""
        return self.source.start < other.source.end and other.source.start < self.source.end

    def within(self, other: "Draft") -> bool:
        """Whether all of this one's text is in the other."""
        return (self.source.key == other.source.key and other.source.start <= self.source.start
                and self.source.end <= other.source.end)

    def joined(self, other: "Draft", documents: Documents) -> "Draft":
        """Both as one source, no text repeated, for drafts that touch."""
        first, second = sorted((self.source, other.source), key=lambda source: (source.start, -source.end))
        document = documents.get(first.key)
        end = max(first.end, second.end)
        text = first.text + second.text[max(first.end - second.start, 0):] if document is None \
            else document.text[first.start:end]
        ranks = tuple(sorted((*self.ranks, *other.ranks)))
        return Draft(replace(first, text=text, end=end), ranks, self.anchor)

    def part(self, start: int, end: int, header: str, documents: Documents) -> "Draft":
        """The part ``start:end`` of the source's own text, marked as cut."""
        source = self.source
        part = replace(source, text=source.text[start:end], start=source.start + start, end=source.start + end,
                       prefix=header, cut=True)
        document = documents.get(source.key)
        return replace(self, source=part if document is None else _located(part, document))

    def windows(self, documents: Documents) -> list["Draft"]:
        """Shortened forms, each longer than the one before and holding it, none the whole.

        They grow from the sentence that was found: to the end of what was found first, then by one unit after
        and one before in turn. Where the piece itself was found, they keep its beginning. None ends with a
        heading, a header row or a colon, for what these announce would be missing.
        """
        units = cut_units(self.source.text, self.source.prefix)
        begin, end = (place - self.source.start for place in self.anchor)
        first = next((index for index, unit in enumerate(units) if unit.end > begin and not unit.opens), None)
        if first is None:
            return []
        before, after = range(first - 1, -1, -1), range(first + 1, len(units))
        if begin == end:
            growth = [first, *before, *after]
        else:
            found = [index for index in after if units[index].start < end]
            turns = zip_longest(after[len(found):], before)
            growth = [first, *found, *(index for turn in turns for index in turn if index is not None)]
        return self._parts(units, growth, documents)

    def beginnings(self, documents: Documents) -> list["Draft"]:
        """Shortened forms that keep the beginning, from the shortest on; none ends with what opens something."""
        units = cut_units(self.source.text, self.source.prefix)
        return self._parts(units, range(len(units)), documents)

    def endings(self, documents: Documents) -> list["Draft"]:
        """Shortened forms that keep the end, from the shortest on."""
        units = cut_units(self.source.text, self.source.prefix)
        # What follows is there already, so a heading or a header row may well be the last unit.
        units = [unit._replace(opens=False) for unit in units]
        return self._parts(units, range(len(units) - 1, -1, -1), documents)

    def _parts(self, units: Sequence[Unit], growth: Iterable[int], documents: Documents) -> list["Draft"]:
        """The forms that come of taking the units in this order; each step lies beside what is taken already."""
        parts, first, last = [], len(units), -1
        for index in growth:
            first, last = min(first, index), max(last, index)
            if not units[last].opens and last - first + 1 < len(units):
                parts.append(self.part(units[first].start, units[last].end, units[first].header, documents))
        return parts


def _located(source: Source, document: Document) -> Source:
    """The source with page, line and headings of the place where it begins."""
    place = document.locate(source.start, source.end)
    return replace(source, page=place.page, line=place.line, heading_path=place.heading_path)


def _split_prefix(prefix: str) -> tuple[str, str]:
    """The headings and the header row (or the opening line of a fence) of a chunk's prefix."""
    headings, _, header = prefix.partition("\n")
    return ("", prefix) if _HEADER.match(headings) else (headings, header)


def _title(headings: str, path: tuple[str, ...], document_id: str) -> str:
    """The document's title, as far as a chunk knows it: its prefix begins with it."""
    below = " > ".join(" ".join(part.split()) for part in path if part.strip())
    title = headings.removesuffix(below).removesuffix(" > ") if below else headings
    return title or (path[0] if path and headings else document_id)


def _anchor(hit: Hit) -> tuple[int, int]:
    """The span of the best child, which its id ends with; the chunk's beginning where there is no other."""
    chunk = hit.chunk
    found = _SPAN_OF_ID.search(hit.best_child_id)
    if found and hit.best_child_id.startswith(f"{chunk.document_id}@{chunk.version}:"):
        start, end = int(found[1]), int(found[2])
        if (start, end) != (chunk.start, chunk.end) and chunk.start <= start < end <= chunk.end:
            return start, end
    return chunk.start, chunk.start
