"""Documents and chunks in a relational database: one SQLAlchemy schema, SQLite by default.

Searching reads memory; the database is for keeping. Its URL is all that another engine needs.
"""

from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import JSON, URL, Column, Date, Integer, MetaData, String, Table, Text, create_engine, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ragkit.chunking import Chunk
from ragkit.documents import Document, Heading, Page

_metadata = MetaData()
_LONG = Text(length=2**24)  # MySQL and MariaDB choose a column type by length; SQLite ignores it

_documents = Table(
    "documents", _metadata,
    Column("id", String(255), primary_key=True), Column("version", String(64), primary_key=True),
    Column("title", Text, nullable=False), Column("text", _LONG, nullable=False),
    Column("source", Text, nullable=False), Column("media_type", String(127), nullable=False),
    Column("topic", String(255)), Column("effective_date", Date),
    Column("audience", JSON, nullable=False), Column("pages", JSON, nullable=False),
    Column("headings", JSON, nullable=False), Column("content_hash", String(64), nullable=False),
    Column("first_line", Integer, nullable=False))

_chunks = Table(
    "chunks", _metadata,
    Column("id", String(512), primary_key=True),
    Column("document_id", String(255), nullable=False, index=True), Column("version", String(64), nullable=False),
    Column("level", Integer, nullable=False), Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False), Column("prefix", Text, nullable=False),
    Column("parent_id", String(512), index=True), Column("heading_path", JSON, nullable=False))


class StoreError(RuntimeError):
    """The database cannot be opened, read or written; the message says which and why."""


class SqlStore:
    """Keeps documents and all levels of chunks. A chunk's text is not stored twice: it is its span.

    Args:
        url: an SQLAlchemy URL, or a path for an SQLite file.
    """

    def __init__(self, url: str | Path):
        # A path goes in as it is: written into a URL, a "?" in it would end it.
        self._engine = create_engine(url if "://" in str(url) else URL.create("sqlite", database=str(url)))

    def save(self, documents: Iterable[Document], chunks: Iterable[Chunk]) -> None:
        """Replace everything that is kept, in one transaction: all of it or nothing."""
        document_rows = [_document_row(document) for document in documents]
        chunk_rows = [{name: getattr(chunk, name) for name in _chunks.columns.keys()} for chunk in chunks]
        try:
            _metadata.create_all(self._engine)
            with self._engine.begin() as connection:
                connection.execute(delete(_chunks))
                connection.execute(delete(_documents))
                if document_rows:
                    connection.execute(insert(_documents), document_rows)
                if chunk_rows:
                    connection.execute(insert(_chunks), chunk_rows)
        except (SQLAlchemyError, ValueError) as error:
            raise StoreError(f"{self._engine.url.render_as_string()} cannot be written: {_first_line(error)}") from error

    def load(self) -> tuple[list[Document], list[Chunk]]:
        """All documents by (id, version), all chunks by document, level and start."""
        try:
            with self._engine.connect() as connection:
                documents = [_document(row) for row in connection.execute(
                    select(_documents).order_by(_documents.c.id, _documents.c.version)).mappings()]
                texts = {(document.id, document.version): document.text for document in documents}
                chunks = [_chunk(row, texts) for row in connection.execute(select(_chunks).order_by(
                    _chunks.c.document_id, _chunks.c.version, _chunks.c.level, _chunks.c.start)).mappings()]
        except (SQLAlchemyError, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self._engine.url.render_as_string()} cannot be read: {_first_line(error)}") from error
        return documents, chunks

    def close(self) -> None:
        """Let go of the file, so that it can be moved or deleted (on Windows it could not be before)."""
        self._engine.dispose()


def _document_row(document: Document) -> dict:
    row = {name: getattr(document, name) for name in _documents.columns.keys()}
    row["audience"] = sorted(document.audience)
    row["pages"] = [[page.number, page.start, page.end] for page in document.pages]
    row["headings"] = [[heading.level, heading.title, heading.start, heading.end] for heading in document.headings]
    return row


def _document(row) -> Document:
    values = dict(row)
    values["audience"] = frozenset(values["audience"])
    values["pages"] = tuple(Page(*page) for page in values["pages"])
    values["headings"] = tuple(Heading(*heading) for heading in values["headings"])
    return Document(**values)


def _chunk(row, texts: dict[tuple[str, str], str]) -> Chunk:
    values = dict(row)
    values["heading_path"] = tuple(values["heading_path"])
    values["text"] = texts[values["document_id"], values["version"]][values["start"]:values["end"]]
    return Chunk(**values)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
