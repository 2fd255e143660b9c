"""Documents: a folder of files becomes texts with metadata, pages, headings and positions (chapter 01)."""

from ragkit.documents.load import load_document, load_folder
from ragkit.documents.model import Document, DocumentError, DocumentKey, Location, Page
from ragkit.documents.report import LoadProblem, LoadReport
from ragkit.documents.structure import Block, Heading, find_headings, scan_blocks

__all__ = [
    "Block",
    "Document",
    "DocumentError",
    "DocumentKey",
    "Heading",
    "LoadProblem",
    "LoadReport",
    "Location",
    "Page",
    "find_headings",
    "load_document",
    "load_folder",
    "scan_blocks",
]
