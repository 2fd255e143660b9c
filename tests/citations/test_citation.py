"""A citation names its passage exactly, and knows when it no longer holds."""

import dataclasses
import json

import pytest

from ragkit.citations import citations_of, verify_citations
from ragkit.context import Context
from ragkit.context.model import Source
from ragkit.documents import Document, Page
from tests.citations.judges import WordJudge
from tests.fixtures import day

TEXT = "# Travel\n\n## Hotels\n\nThe cap is 150 euros.\nBreakfast is extra.\n\n## Taxis\n\nA taxi costs 40 euros.\n"


def document(text=TEXT, version="2", **more):
    return Document(id="travel", title="Travel", text=text, version=version, source="travel/travel.md",
                    effective_date=day("2025-01-01"), first_line=8, **more)


def packed(doc, start=0, end=None, number=1):
    end = len(doc.text) if end is None else end
    place = doc.locate(start, end)
    return Source(number, doc.id, doc.version, doc.title, doc.text[start:end], start, end,
                  heading_path=place.heading_path,
                  page=place.page, line=place.line, source=doc.source, effective_date=doc.effective_date,
                  content_hash=doc.content_hash)


def cited(answer, *sources, documents=None):
    context = Context(tuple(sources), "", 0, 0)
    return citations_of(verify_citations(answer, context, judge=WordJudge()), context, documents)


def test_the_passage_its_document_and_its_place():
    doc = document()
    start = TEXT.index("The cap")
    [citation] = cited("Breakfast is extra [1].", packed(doc, start), documents={doc.key: doc})
    assert doc.text[citation.start:citation.end] == citation.quote == "Breakfast is extra"
    assert (citation.number, citation.document_id, citation.version, citation.content_hash) == (
        1, "travel", "2", doc.content_hash)
    assert (citation.page, citation.line, citation.heading_path) == (None, 13, ("Travel", "Hotels"))
    assert citation.place == "Travel > Hotels (version 2, line 13, travel/travel.md)"


def test_the_line_is_counted_on_without_the_document():
    doc = document()
    [citation] = cited("Breakfast is extra [1].", packed(doc, TEXT.index("The cap")))
    assert citation.line == 13
    plain = dataclasses.replace(packed(doc), line=None)
    assert cited("Breakfast is extra [1].", plain)[0].line is None


def test_headings_of_the_passage_need_the_document():
    doc = document()
    source = packed(doc, TEXT.index("The cap"))
    assert cited("A taxi costs 40 euros [1].", source)[0].heading_path == ("Travel", "Hotels")
    [exact] = cited("A taxi costs 40 euros [1].", source, documents={doc.key: doc})
    assert exact.heading_path == ("Travel", "Taxis")


def test_the_page_of_the_passage():
    first, second = "The fox is red.", "The dog sleeps."
    doc = Document(id="pets", title="Pets", text=f"{first}\n\n{second}", media_type="application/pdf",
                   pages=(Page(1, 0, len(first)), Page(2, len(first) + 2, len(first) + 2 + len(second))))
    [citation] = cited("The dog sleeps [1].", packed(doc), documents={doc.key: doc})
    assert (citation.page, citation.line, citation.quote) == (2, 1, "The dog sleeps")


def test_each_passage_once_in_the_order_of_the_answer():
    doc = document()
    found = cited("A taxi costs 40 euros [1]. The cap is 150 euros [1]. A taxi costs 40 euros [1][9].", packed(doc))
    assert [citation.quote for citation in found] == ["A taxi costs 40 euros", "The cap is 150 euros"]


def test_a_mark_of_no_claim_cites_the_whole_source():
    doc = document()
    [citation] = cited("The sources do not say [1].", packed(doc))
    assert citation.quote == TEXT


def test_plain_data():
    data = json.loads(json.dumps(cited("A taxi costs 40 euros [1].", packed(document()))[0].to_dict()))
    assert (data["quote"], data["heading_path"], data["version"]) == ("A taxi costs 40 euros", ["Travel"], "2")


NEWER = document(TEXT.replace("150", "170"), version="3")


@pytest.mark.parametrize("documents, reason", [
    ([document()], None),
    ([document(), Document(id="other", title="Other", text="x", version="9")], None),
    ([], "travel is gone"),
    ([NEWER], "version 2 of travel is gone; there is version 3"),
    ([document(TEXT.replace("150", "170"))], "travel version 2 has changed: the quoted words no longer stand there"),
    ([document("x" + TEXT)], "travel version 2 has changed: the quoted words no longer stand there"),
    ([document(TEXT + "More.")], "travel version 2 has changed; the quoted words still stand there"),
    ([document(topic="money")], "travel version 2 has changed; the quoted words still stand there"),
    ([document(), NEWER], "version 2 of travel was replaced by version 3, in force from 2025-01-01"),
    ([document(), document(version="1")], None),
])
def test_when_it_is_stale(documents, reason):
    [citation] = cited("The cap is 150 euros [1].", packed(document()))
    assert citation.is_stale(documents) == reason
    assert citation.is_stale({one.key: one for one in documents}) == reason
