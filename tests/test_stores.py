"""Documents and chunks in a database come back as they were."""

import datetime
import sqlite3

import pytest

from ragkit.chunking import HierarchicalChunker
from ragkit.documents import Document, Page
from ragkit.stores import SqlStore
from ragkit.stores.sql import StoreError
from tests.fixtures import document

RICH = Document(id="中文/a b", title="Title 'q\" ; DROP TABLE documents", text="# 标题\r\n\n" + "住宿标准每晚四百元。🙂\x1f\n" * 60,
                source="中文/a b.md", media_type="text/markdown", topic="travel", version="1.0-β",
                effective_date=datetime.date(2025, 9, 1), audience=frozenset({"staff", "board"}),
                first_line=9)
PAGED = Document(id="pdf", title="PDF", text="one\n\ntwo", media_type="application/pdf",
                 pages=(Page(1, 0, 3), Page(2, 5, 8)))


def chunks_of(*documents):
    return [chunk for doc in documents for chunk in HierarchicalChunker((200, 100, 40)).chunk(doc)]


@pytest.fixture(params=["file", "odd name ? # %41 &x=1.sqlite", "url"])
def store(request, tmp_path):
    made = SqlStore(f"sqlite:///{(tmp_path / 'url.sqlite').as_posix()}" if request.param == "url"
                    else tmp_path / request.param)
    yield made
    made.close()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"url.sqlite" if request.param == "url" else request.param}


def test_what_is_kept_comes_back_the_same(store):
    documents, chunks = [PAGED, RICH], chunks_of(PAGED, RICH)
    store.save(documents, chunks)
    got_documents, got_chunks = store.load()
    assert got_documents == documents
    assert sorted(got_chunks, key=lambda chunk: chunk.id) == sorted(chunks, key=lambda chunk: chunk.id)
    assert got_documents[1].content_hash == RICH.content_hash


def test_saving_replaces_all(store):
    store.save([RICH], chunks_of(RICH))
    store.save([PAGED], chunks_of(PAGED))
    documents, chunks = store.load()
    assert documents == [PAGED] and {chunk.document_id for chunk in chunks} == {"pdf"}
    store.save([], [])
    assert store.load() == ([], [])


def test_all_or_nothing(store):
    store.save([RICH], chunks_of(RICH))
    twice = chunks_of(PAGED)
    with pytest.raises(StoreError, match="cannot be written"):
        store.save([PAGED], twice + twice)
    with pytest.raises(StoreError, match="cannot be written"):
        store.save([document("lone \ud800 surrogate")], [])
    assert store.load()[0] == [RICH]


@pytest.mark.parametrize("content", [b"", b"no database " * 100])
def test_a_damaged_file_is_said_so(tmp_path, content):
    (tmp_path / "x.sqlite").write_bytes(content)
    store = SqlStore(tmp_path / "x.sqlite")
    with pytest.raises(StoreError, match=r"x\.sqlite cannot be read"):
        store.load()
    store.close()


def test_a_chunk_of_no_document_is_said_so(tmp_path):
    store = SqlStore(tmp_path / "x.sqlite")
    store.save([RICH, PAGED], chunks_of(RICH))
    store.close()
    connection = sqlite3.connect(tmp_path / "x.sqlite")
    with connection:
        connection.execute("DELETE FROM documents WHERE id != 'pdf'")
    connection.close()
    with pytest.raises(StoreError, match="cannot be read"):
        store.load()
    store.close()


def test_text_is_not_stored_twice(tmp_path):
    store = SqlStore(tmp_path / "x.sqlite")
    store.save([RICH], chunks_of(RICH))
    store.close()
    connection = sqlite3.connect(tmp_path / "x.sqlite")
    columns = {row[1] for row in connection.execute("PRAGMA table_info(chunks)")}
    connection.close()
    assert "text" not in columns and {"id", "parent_id", "prefix"} <= columns
