"""Files and folders to documents (chapter 01). One bad file never stops a folder; the report names it."""

import logging
import os
import unicodedata
from collections import Counter
from pathlib import Path

from ragkit.documents.encodings import EncodingError, clean_text, declared_encoding, decode
from ragkit.documents.metadata import SIDECAR_SUFFIX, parse_metadata, split_front_matter
from ragkit.documents.model import PDF, Document, DocumentError, Page
from ragkit.documents.report import LoadProblem, LoadReport
from ragkit.documents.structure import find_headings
from ragkit.documents.walk import relative_source, walk

logger = logging.getLogger("ragkit.documents")

_MARKDOWN = "text/markdown"
_HTML = "text/html"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIA_TYPES = {
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".txt": "text/plain",
    ".html": _HTML,
    ".htm": _HTML,
    ".pdf": PDF,
    ".docx": _DOCX,
}
_SUPPORTED = "Markdown, TXT, HTML, PDF and DOCX"


class _EmptyDocumentError(DocumentError):
    """A file without any text to begin with: worth a warning, not a problem."""


def load_document(path: str | os.PathLike, root: str | os.PathLike | None = None) -> Document:
    """Load one file. `source`, and an id taken from the path, are relative to the folder `root`, or to the
    file's own folder when it is not given.

    Warnings (dropped characters, unknown keys, pages without text) go to the log "ragkit.documents".

    Raises:
        DocumentError: (a ValueError) saying why the file cannot become a document, and what to do.
        FileNotFoundError: when there is no such file.
    """
    path = Path(path)
    if path.is_dir():
        raise DocumentError(str(path), "it is a folder, not a file", "Use load_folder for it.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}; check its name, and the folder you are in")
    path = Path(os.path.abspath(path))
    root = Path(os.path.abspath(root)) if root is not None else path.parent
    shared = sum(other.stem == path.stem for other in path.parent.iterdir() if _is_supported(other)) > 1
    document, warnings = _load(path, root, shared)
    for warning in warnings:
        logger.warning("%s: %s", document.source, warning)
    return document


def load_folder(path: str | os.PathLike, strict: bool = False) -> LoadReport:
    """Load every Markdown, TXT, HTML, PDF and DOCX file below a folder, in an order that is always the same.

    Skipped without a word: hidden files and folders, and the lock files of office programs ("~$report.docx").
    Folders are entered through links too, each once. With `strict`, any problem is an error.

    Raises:
        FileNotFoundError, NotADirectoryError: when `path` is not there, or is a file.
        DocumentError: with `strict`, naming the first problem and how many there are.
    """
    root = Path(path)
    if not root.exists():
        raise FileNotFoundError(
            f"there is no folder {str(root)!r}; check its name, and the folder you are in"
        )
    if not root.is_dir():
        raise NotADirectoryError(f"{str(root)!r} is a file, not a folder; use load_document for it")
    files, problems = walk(root)
    documents: dict[tuple[str, str], Document] = {}
    warnings: list[LoadProblem] = []
    present = set(files)
    stems = Counter((file.parent, file.stem) for file in files if _is_supported(file))
    unsupported: Counter[str] = Counter()
    for file in files:
        source = relative_source(file, root)
        if file.name.endswith((SIDECAR_SUFFIX, ".meta.yml")):
            if file.with_name(file.name.removesuffix(SIDECAR_SUFFIX)) not in present or file.suffix == ".yml":
                problems.append(
                    LoadProblem(
                        source,
                        "it describes no file by this name",
                        "Give it the whole name of its file, as in report.pdf.meta.yaml beside report.pdf.",
                    )
                )
            continue
        if not _is_supported(file):
            unsupported[file.suffix.lower() or "no extension"] += 1
            continue
        try:
            document, notes = _load(file, root, stems[file.parent, file.stem] > 1)
        except _EmptyDocumentError as error:
            warnings.append(LoadProblem(source, error.reason, error.advice))
            continue
        except DocumentError as error:
            problems.append(LoadProblem(source, error.reason, error.advice))
            continue
        warnings.extend(LoadProblem(source, note, "") for note in notes)
        first = documents.setdefault(document.key, document)
        if first is not document:
            problems.append(
                LoadProblem(
                    source,
                    f"{first.source} already has the id {document.id!r} in version {document.version!r}",
                    "Give one of the two another id or another version.",
                )
            )
    for extension, count in sorted(unsupported.items()):
        files_word = "1 file" if count == 1 else f"{count} files"
        warnings.append(
            LoadProblem(
                f"*{extension}" if extension.startswith(".") else extension,
                f"{files_word} of a kind that is not read",
                f"Read are {_SUPPORTED}; save them as one of these.",
            )
        )
    if strict and problems:
        more = f" (Problems in all: {len(problems)}.)" if len(problems) > 1 else ""
        raise DocumentError(problems[0].source, problems[0].reason, problems[0].advice + more)
    return LoadReport(tuple(documents[key] for key in sorted(documents)), tuple(problems), tuple(warnings))


def _is_supported(path: Path) -> bool:
    return path.suffix.lower() in MEDIA_TYPES


def _load(path: Path, root: Path, shares_stem: bool) -> tuple[Document, tuple[str, ...]]:
    """A document and warnings about it; whatever goes wrong comes out as a DocumentError.

    `shares_stem` says that a neighbour has the same name up to the extension.
    """
    source = relative_source(path, root)
    try:
        return _read(path, source, shares_stem)
    except DocumentError:
        raise
    except EncodingError as error:
        raise DocumentError(source, str(error), "Save it as UTF-8.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise DocumentError(
            source, f"it cannot be opened ({reason})", "Check that it is there and readable."
        ) from error
    except RecursionError as error:
        raise DocumentError(
            source, "its parts are nested too deeply", "Save a simpler copy of it."
        ) from error
    except Exception as error:  # parsers of damaged files fail in ways of their own
        logger.debug("reading %s", source, exc_info=True)
        raise DocumentError(
            source,
            f"it is damaged or not what its name says ({type(error).__name__}: {error})",
            "Open it in its own program and save it again.",
        ) from error


def _read(path: Path, source: str, shares_stem: bool) -> tuple[Document, tuple[str, ...]]:
    media_type = MEDIA_TYPES.get(path.suffix.lower())
    if media_type is None:
        kind = path.suffix or "no extension"
        raise DocumentError(
            source, f"files of this kind ({kind}) are not read", f"Save it as one of {_SUPPORTED}."
        )
    if path.exists() and not path.is_file():
        raise DocumentError(source, "it is not a regular file", "Remove it from the folder.")
    metadata, warnings = _read_sidecar(path, source)
    data = path.read_bytes()
    if not data.strip():
        raise _empty(source)
    text, pages, page_title, notes = _extract(data, media_type, source)
    first_line = 1
    if media_type == _MARKDOWN:
        front_matter, body = split_front_matter(text, source)
        first_line, text = 1 + text.count("\n", 0, len(text) - len(body)), body
        if front_matter is not None and metadata is not None:
            raise DocumentError(
                source,
                f"it has both front matter and a file {path.name}{SIDECAR_SUFFIX}",
                "Keep one of the two.",
            )
        if front_matter is not None:
            metadata, warnings = parse_metadata(front_matter, source, first_line=2)
    if not text.strip():
        if media_type in (_HTML, _DOCX):
            raise DocumentError(
                source,
                "there is no text in it",
                "If a script or pictures hold the text, save it as text or as a PDF.",
            )
        raise _empty(source)
    metadata = metadata or {}
    headings = () if media_type == PDF else tuple(find_headings(text))
    # The first heading, unless it is a lower one on a page that has a title of its own.
    heading = headings[0].title if headings and not (page_title and headings[0].level > 1) else ""
    title = metadata.pop("title", None) or heading or page_title or path.stem
    document = Document(
        id=metadata.pop("id", None) or _id_from_path(source, shares_stem),
        title=title,
        text=text,
        source=source,
        media_type=media_type,
        pages=pages,
        headings=headings,
        first_line=first_line,
        **metadata,
    )
    return document, (*warnings, *notes)


def _extract(data: bytes, media_type: str, source: str) -> tuple[str, tuple[Page, ...], str, tuple[str, ...]]:
    """Text, page map, <title> of a web page, and warnings."""
    if media_type == PDF:
        from ragkit.documents.pdf import pdf_to_text

        text, pages, notes = pdf_to_text(data, source)
        return text, pages, "", notes
    if media_type == _DOCX:
        from ragkit.documents.docx import docx_to_text

        text, notes = clean_text(docx_to_text(data, source))
        return text, (), "", notes
    decoded = decode(data, declared_encoding(data) if media_type == _HTML else None)
    if media_type == _HTML and decoded.text.strip():
        from ragkit.documents.html import html_to_text

        text, page_title = html_to_text(decoded.text)
        text, notes = clean_text(text)  # "&#13;" and the like only come out now
        return text, (), page_title, (*decoded.warnings, *notes)
    return decoded.text, (), "", decoded.warnings


def _empty(source: str) -> _EmptyDocumentError:
    return _EmptyDocumentError(
        source, "it is empty and gives no document", "Write something into it, or remove it."
    )


def _read_sidecar(path: Path, source: str) -> tuple[dict | None, tuple[str, ...]]:
    sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
    if not sidecar.exists():
        return None, ()
    try:
        decoded = decode(sidecar.read_bytes())
        values, warnings = parse_metadata(decoded.text, sidecar.name)
    except DocumentError as error:
        raise DocumentError(source, f"in {sidecar.name}: {error.reason}", error.advice) from error
    return values, (*decoded.warnings, *warnings)


def _id_from_path(source: str, shares_stem: bool) -> str:
    """The path without extension; with it when a neighbour differs in nothing else.

    Then both keep theirs, so that adding report.pdf never lets "report" mean another file than report.docx.
    Composed characters (NFC): systems differ in how they store "é" in a name.
    """
    return unicodedata.normalize("NFC", source if shares_stem else source.rpartition(".")[0])
