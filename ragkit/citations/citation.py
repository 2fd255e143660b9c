"""A citation as it is kept: which words of which version of which document (chapter 07)."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ragkit.context import Context, Source
from ragkit.documents import Document, DocumentKey
from ragkit.filters import version_order

if TYPE_CHECKING:
    from ragkit.citations.verify import Verification


@dataclass(frozen=True)
class Citation:
    """A cited passage: ``document.text[start:end] == quote``, in the document of this id, version and hash.

    Attributes:
        number: the source's number in the answer.
        content_hash: of the document when it was cited; "" when it was a plain text.
        source: the file, relative to the folder it was loaded from.
        page, line: where the quote begins; None when not known.
    """

    number: int
    document_id: str
    version: str
    content_hash: str
    title: str
    source: str
    page: int | None
    line: int | None
    heading_path: tuple[str, ...]
    start: int
    end: int
    quote: str

    @property
    def key(self) -> DocumentKey:
        return DocumentKey(self.document_id, self.version)

    @property
    def place(self) -> str:
        """Where to look it up, in words: title, headings, version, page, line, file."""
        path = self.heading_path if self.heading_path[:1] == (self.title,) else (self.title, *self.heading_path)
        facts = [f"version {self.version}", self.page is not None and f"page {self.page}",
                 self.line is not None and f"line {self.line}", self.source]
        return f"{' > '.join(filter(None, path))} ({', '.join(filter(None, facts))})"

    def is_stale(self, documents: Mapping[DocumentKey, Document] | Iterable[Document]) -> str | None:
        """Why the citation no longer holds in these documents, or None when it does.

        It is stale when the document is gone, has another content than when it was cited (the words or the
        metadata), or has been replaced by a newer version.
        """
        known = list(documents.values() if isinstance(documents, Mapping) else documents)
        versions = [document for document in known if document.id == self.document_id]
        if not versions:
            return f"{self.document_id} is gone"
        cited = next((document for document in versions if document.version == self.version), None)
        newest = max(versions, key=version_order)
        if cited is None:
            return f"version {self.version} of {self.document_id} is gone; there is version {newest.version}"
        if cited.text[self.start:self.end] != self.quote:
            return f"{self.document_id} version {self.version} has changed: the quoted words no longer stand there"
        if self.content_hash and cited.content_hash != self.content_hash:
            return f"{self.document_id} version {self.version} has changed; the quoted words still stand there"
        if newest is not cited:
            since = f", in force from {newest.effective_date.isoformat()}" if newest.effective_date else ""
            return f"version {self.version} of {self.document_id} was replaced by version {newest.version}{since}"
        return None

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return asdict(self) | {"heading_path": list(self.heading_path)}


def cite(source: Source, start: int, end: int, documents: Mapping[DocumentKey, Document] | None = None) -> Citation:
    """The passage ``start:end`` of the source's document as a citation.

    Page, line and headings are those of the passage when the document is at hand unchanged. Else page and
    headings are those of the source, and the line counts on from its line.
    """
    quote = source.text[start - source.start:end - source.start]
    page, heading_path = source.page, source.heading_path
    line = None if source.line is None else source.line + source.text.count("\n", 0, start - source.start)
    document = unchanged(source, documents)
    if document is not None:
        place = document.locate(start, end)
        page, line, heading_path = place.page, place.line, place.heading_path
    return Citation(source.number, source.document_id, source.version, source.content_hash, source.title, source.source,
                    page, line, heading_path, start, end, quote)


def unchanged(source: Source, documents: Mapping[DocumentKey, Document] | None) -> Document | None:
    """The source's document if it is there and still has the source's text at its place."""
    document = (documents or {}).get(source.key)
    return document if document is not None and document.text[source.start:source.end] == source.text else None


def citations_of(verification: "Verification", context: Context,
                 documents: Mapping[DocumentKey, Document] | None = None) -> tuple[Citation, ...]:
    """The passages that the answer cites, in the order of the answer, each once (chapter 07).

    A citation's passage is the one that was compared with its sentence, whether it supports it or not; marks of
    sentences that claim nothing cite their whole source.
    """
    places: dict[tuple[int, int, int], None] = {}
    for sentence in verification.sentences:
        compared = {one.number: (one.start, one.end) for one in sentence.support}
        for number in sentence.cited:
            source = context[number]
            places[number, *compared.get(number, (source.start, source.end))] = None
    return tuple(cite(context[number], start, end, documents) for number, start, end in places)
