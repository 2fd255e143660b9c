"""PDF to text with pypdf: the text of each page and where it begins."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PdfReadError, WrongPasswordError

from ragkit.documents.encodings import clean_text
from ragkit.documents.model import DocumentError, Page

PAGE_BREAK = "\n\n"
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_PROTECTED = "it is protected by a password"
_SAVE_OPEN = "Open it with the password and save a copy without one."
_DAMAGED_ADVICE = "Open it in a viewer and print it to a new PDF, or ask for another copy."
_SCAN_ADVICE = "Run text recognition (OCR) over it, for example with OCRmyPDF, and load the result."


def pdf_to_text(data: bytes, source: str) -> tuple[str, tuple[Page, ...], tuple[str, ...]]:
    """The text of a PDF, its page map, and warnings about pages without text.

    Raises:
        DocumentError: for a PDF that is protected, damaged or made of images only.
    """
    with _quiet_pypdf():
        texts, failures = _page_texts(data, source)
    if failures and not any(texts):
        raise DocumentError(source, f"none of its pages can be read ({failures[0]})", _DAMAGED_ADVICE)
    if not any(texts):
        pages = "its only page has" if len(texts) == 1 else f"its {len(texts)} pages have"
        raise DocumentError(source, f"{pages} no text, only images or drawings", _SCAN_ADVICE)
    warnings = [f"{failure}; its text is missing" for failure in failures]
    blank = [str(number) for number, page in enumerate(texts, 1) if not page]
    if blank:
        warnings.append(f"no text on page {', '.join(blank)} of {len(texts)}")
    pages = []
    start = 0
    for number, page in enumerate(texts, 1):
        pages.append(Page(number, start, start + len(page)))
        start += len(page) + len(PAGE_BREAK)
    return PAGE_BREAK.join(texts), tuple(pages), tuple(warnings)


def _page_texts(data: bytes, source: str) -> tuple[list[str], list[str]]:
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):  # many are only protected from changes
            raise DocumentError(source, _PROTECTED, _SAVE_OPEN)
        count = len(reader.pages)
    except (DependencyError, FileNotDecryptedError, WrongPasswordError) as error:
        raise DocumentError(source, _PROTECTED, _SAVE_OPEN) from error
    except DocumentError:
        raise
    except Exception as error:  # damaged files fail anywhere in pypdf, with any exception
        raise DocumentError(source, f"it is damaged or no PDF ({_say(error)})", _DAMAGED_ADVICE) from error
    if not count:
        raise DocumentError(source, "it has no pages", _DAMAGED_ADVICE)
    texts, failures = [], []
    for number in range(count):
        try:
            text = reader.pages[number].extract_text()
        except Exception as error:
            text = ""
            failures.append(f"page {number + 1} cannot be read: {_say(error)}")
        text, _ = clean_text(text.translate(_LIGATURES).replace("\u00a0", " "))
        texts.append("\n".join(line.rstrip() for line in text.split("\n")).strip())
    return texts, failures


def _say(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its parts refer to one another without end"
    name = "" if isinstance(error, PdfReadError) else f"{type(error).__name__}: "
    return f"{name}{error}".strip(": \n") or type(error).__name__


@contextmanager
def _quiet_pypdf() -> Iterator[None]:
    # pypdf logs every oddity it mends; what matters to the reader is in the report.
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
