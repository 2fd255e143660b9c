"""A built knowledge base kept on disk, by the content of its folder (chapters 00 and 12).

A cache is a folder of its own: ``chunks.sqlite`` (documents, chunks, parents), the index as ``index.faiss``
and ``index.json``, and ``head.json``, written last. It is made under a temporary name and renamed when it is
whole, so a run that was killed leaves nothing that looks finished.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ragkit.documents import LoadProblem, LoadReport
from ragkit.embedding import Embedder
from ragkit.index import FaissIndex
from ragkit.parents import ChunkTree
from ragkit.paths import cache_folder
from ragkit.retrieval import Corpus
from ragkit.settings import Settings

logger = logging.getLogger("ragkit.folder_cache")

FORMAT = 2
A_DAY = 24 * 60 * 60  # seconds
SHAPING = ("chunker", "chunk_size", "chunk_overlap", "level_sizes", "size_unit")


@dataclass(frozen=True)
class TooLong:
    """A chunk that the model does not read to its end: ``tokens`` of it, of which ``limit`` count."""

    chunk_id: str
    tokens: int
    limit: int


class FolderCache:
    """The cache of one folder under one set of shaping settings and one embedder."""

    def __init__(self, folder: Path, settings: Settings, embedder: Embedder):
        self._embedder = embedder
        shape = {name: getattr(settings, name) for name in SHAPING} | {
            "embedder": embedder.name, "dimension": embedder.dimension}
        place = json.dumps([str(folder.resolve()), shape])
        self.home = cache_folder() / "knowledge_bases" / hashlib.sha256(place.encode()).hexdigest()[:32]
        self.content = _content_hash(folder)

    def restore(self) -> tuple[Corpus, LoadReport, tuple[TooLong, ...]] | None:
        """What was kept, or None when there is nothing, the folder has changed, or a part is damaged."""
        from ragkit.stores import SqlStore

        try:
            head = json.loads((self.home / "head.json").read_text(encoding="utf-8"))
            if head["content"] != self.content:
                return None
            index = FaissIndex.load(self.home / "index")
            store = SqlStore(self.home / "chunks.sqlite")
            try:
                documents, chunks = store.load()
            finally:
                store.close()
            by_key = {document.key: document for document in documents}
            corpus = Corpus(by_key, ChunkTree((chunk.id, chunk) for chunk in chunks), index, self._embedder)
            problems, warnings = (tuple(LoadProblem(**entry) for entry in head[name])
                                  for name in ("problems", "warnings"))
            return (corpus, LoadReport(tuple(documents), problems, warnings),
                    tuple(TooLong(**entry) for entry in head["too_long"]))
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            logger.warning("the cached knowledge base is damaged (%s); it is built anew", error)
            return None

    def keep(self, corpus: Corpus, report: LoadReport, too_long: tuple[TooLong, ...]) -> None:
        """Write the cache. A full or read-only disk costs speed next time, not the answer now."""
        from ragkit.stores import SqlStore

        try:
            self.home.parent.mkdir(parents=True, exist_ok=True)
            _clear_away(self.home.parent)
            workshop = Path(tempfile.mkdtemp(prefix="building-", dir=self.home.parent))
            try:
                store = SqlStore(workshop / "chunks.sqlite")
                try:
                    store.save(corpus.documents.values(), corpus.chunks.values())
                finally:
                    store.close()
                corpus.index.save(workshop / "index")
                head = {"content": self.content}
                for name, entries in (("problems", report.problems), ("warnings", report.warnings),
                                      ("too_long", too_long)):
                    head[name] = [asdict(entry) for entry in entries]
                (workshop / "head.json").write_text(json.dumps(head), encoding="utf-8")
                shutil.rmtree(self.home, ignore_errors=True)
                os.replace(workshop, self.home)
            finally:
                shutil.rmtree(workshop, ignore_errors=True)
        except (OSError, RuntimeError) as error:
            logger.warning("the knowledge base could not be kept in %s (%s); it is built anew next time",
                           self.home.parent, error)


def _clear_away(place: Path) -> None:
    """Remove what builds left that were killed: no build takes a day."""
    for left in place.glob("building-*"):
        try:
            old = time.time() - left.stat().st_mtime > A_DAY
        except FileNotFoundError:  # another process has just finished it
            continue
        if old:
            shutil.rmtree(left, ignore_errors=True)


def _content_hash(folder: Path) -> str:
    """Hash of every file's path and bytes, and of the code that turns them into chunks."""
    digest = hashlib.sha256(f"format {FORMAT}".encode())
    package = Path(__file__).resolve().parent
    for root in (folder, package / "documents", package / "chunking"):
        for path in _files(root):
            digest.update(os.fsencode(path.relative_to(root).as_posix()) + b"\0")
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError:  # a file that cannot be read is the load report's to tell
                digest.update(b"unreadable")
    return digest.hexdigest()


def _files(root: Path) -> list[Path]:
    """All files below a folder, in order; linked folders too, each once, as ``load_folder`` goes through them."""
    found, entered = [], set()
    for place, folders, names in os.walk(root, followlinks=True):
        real = os.path.realpath(place)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        found += [path for name in names if (path := Path(place, name)).is_file() and path.suffix != ".pyc"]
    return sorted(found)
