"""Citations: read out of an answer, checked against the sources, added where missing, and shown (chapter 07).

Modules: `marks` (what a citation mark is), `sentences` and `claims` (what there is to check), `support` (does this
text support this claim), `verify` (every sentence, and the measures), `attribution` (the marks that are missing),
`citation` (what is kept), `render` and `footnotes` (what is shown), `llm_judge` (a language model as judge).
"""

from ragkit.citations.attribution import AddedCitation, Attribution, attribute
from ragkit.citations.citation import Citation, citations_of
from ragkit.citations.footnotes import render_html
from ragkit.citations.llm_judge import JudgeError, LlmJudge
from ragkit.citations.marks import CitationMark, parse_citations
from ragkit.citations.render import render_markdown, render_text
from ragkit.citations.support import SignalJudge, Support, SupportJudge
from ragkit.citations.verify import SentenceVerdict, SourceVerdict, Verification, verify_citations

__all__ = [
    "AddedCitation",
    "Attribution",
    "Citation",
    "CitationMark",
    "JudgeError",
    "LlmJudge",
    "SentenceVerdict",
    "SignalJudge",
    "SourceVerdict",
    "Support",
    "SupportJudge",
    "Verification",
    "attribute",
    "citations_of",
    "parse_citations",
    "render_html",
    "render_markdown",
    "render_text",
    "verify_citations",
]
