"""The model of chapter 01's lab, without a browser."""

import html
import re

import numpy as np
import pytest

from ragkit.chunking import FixedChunker, HeadingChunker, SentenceChunker
from ragkit.documents import load_folder
from ragkit.evaluation import Question, gold_spans, load_questions
from ragkit.labs.chunking import CHOICES, CHUNKERS, OVERLAPS, SIZES, ChunkingModel, chunking_lab
from ragkit.paths import data_path
from tests.fixtures import document


@pytest.fixture(scope="module")
def handbook():
    return list(load_folder(data_path("handbook")))


@pytest.fixture(scope="module")
def view(handbook):
    return chunking_lab(handbook, load_questions())


@pytest.fixture
def model(view):
    view.model.document, view.model.chunker, view.model.size, view.model.overlap = CHOICES[0], "fixed", 250, 0
    return view.model


def asked(quote: str, document_id: str) -> Question:
    gold = [[{"document": document_id, "version": "1", "quote": quote}]]
    return Question(id=quote, split="dev", kind="direct", language="en", question="?", answerable=True, answer="!",
                    gold=gold)


@pytest.mark.parametrize("name, size, overlap, chunker", [
    ("fixed", 50, 0, FixedChunker(50, 0)), ("fixed", 250, 50, FixedChunker(250, 50)),
    ("fixed", 1000, 200, FixedChunker(1000, 200)), ("fixed", 90, 71, FixedChunker(90, 71)),
    ("sentences", 100, 0, SentenceChunker(100)), ("sentences", 150, 100, SentenceChunker(150, 100)),
    ("headings", 100, 200, HeadingChunker(100)),
])
def test_counts_are_those_of_the_chunkers(model, handbook, name, size, overlap, chunker):
    quotes = {span for question in load_questions() for group in gold_spans(question, handbook) for span in group}
    chunks = {one.key: chunker.chunk(one) for one in handbook}
    lost = [quote for quote in quotes
            if not any(quote.inside(chunk) for chunk in chunks[quote.document_id, quote.version])]
    model.chunker, model.size, model.overlap = name, size, overlap
    assert (model.quotes, model.broken) == (len(quotes), len(lost))
    assert {quote for quote in lost if f"{quote.document_id}@{quote.version}" == model.document} == \
        set(model.broken_here)


def test_a_quote_at_the_cut_by_hand():
    texts = [document("one", "abcdefghij"), document("two", "xyz")]
    model = ChunkingModel(texts, [asked("ef", "one"), asked("gh", "one"), asked("yz", "two")], "one@1")
    model.size = 5
    assert (model.quotes, model.quotes_here, model.broken, len(model.broken_here)) == (3, 2, 1, 1)
    assert [(quote.start, quote.end) for quote in model.broken_here] == [(4, 6)]
    assert "<li>e <b>&#9986;</b> f</li>" in model.html()
    model.overlap = 2  # abcde defgh ghij
    assert (model.broken, model.broken_here) == (0, [])
    model.document = "two@1"
    assert (model.quotes_here, len(model.chunks)) == (1, 1)


def test_the_curve_has_no_value_where_the_settings_are_refused(model):
    curve = model.curve("fixed", 100)
    assert len(curve) == len(SIZES)
    assert np.isnan(curve[:2]).all() and not np.isnan(curve[2:]).any()
    assert not np.isnan(model.curve("headings", 200)).any()
    assert (0 <= curve[2:]).all() and (curve[2:] <= 100).all()


def test_a_refusal_is_a_sentence_and_no_point(model):
    model.size, model.overlap = 100, 150
    assert model.problem == "overlap (150) must be smaller than size (100)"
    assert model.problem in model.html() and "<table" not in model.html()
    refused = model.png()
    model.chunker = "headings"  # which has no overlap
    assert model.problem == "" and "<table" in model.html()
    assert model.png() != refused


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("chunker", CHUNKERS)
def test_the_text_is_shown_whole_with_numbered_cuts(model, name, chunker):
    model.document, model.chunker, model.size, model.overlap = name, chunker, 150, 50
    shown = model.html().partition('<div class="rk-cut">')[2]
    plain = re.sub(r"<[^>]+>", "", re.sub(r'<b class="n">.*?</b>', "", shown))
    assert html.unescape(plain) == model._documents[name].text
    count = len(model.chunks)
    assert [int(number) for number in re.findall(r"\[(\d+)&nbsp;</b>", shown)] == list(range(1, count + 1))
    assert [int(number) for number in re.findall(r"&nbsp;(\d+)\]</b>", shown)] == list(range(1, count + 1))
    assert shown.count("&#9986;") == len(model.broken_here)
    assert shown.count("&#9986;") + shown.count("&#10003;") == model.quotes_here


def test_a_long_list_of_broken_quotes_is_cut_short(model):
    model.size = 50
    assert len(model.broken_here) > 4
    assert model.html().count("<li>") == 4
    assert f"<li>and {len(model.broken_here) - 3} more</li>" in model.html()


def test_document_text_is_escaped():
    model = ChunkingModel([document("<b>", "<script>alert(1)</script>")], [asked("alert", "<b>")], "<b>@1")
    assert "<script" not in model.html() and "&lt;script&gt;" in model.html() and "<td><b>" not in model.html()


def test_every_control_changes_text_or_picture(model):
    for name, value in (("overlap", 50), ("size", 400), ("chunker", "sentences"), ("document", CHOICES[1])):
        before = model.html(), model.png()
        setattr(model, name, value)
        assert (model.html(), model.png()) != before
    before = model.png()
    assert model.png() == before


def test_without_questions_nothing_is_broken():
    model = ChunkingModel([document("one", "Some text.")], [], "one@1")
    assert (model.quotes, model.broken, model.broken_here) == (0, 0, [])
    assert "Some text." in model.html() and model.png()


def test_wrong_names_are_refused(model):
    with pytest.raises(ValueError, match="no document 'x'"):
        model.document = "x"
    with pytest.raises(ValueError, match="no chunker 'x'; the chunkers are fixed, sentences, headings"):
        model.chunker = "x"


def test_controls_cover_a_refusal_and_show_the_model(view, model):
    controls = view.controls
    assert controls["overlap"].max > controls["size"].min
    controls["size"].value, controls["overlap"].value = SIZES[0], OVERLAPS[-1]
    assert (model.size, model.overlap) == (SIZES[0], OVERLAPS[-1])
    assert "must be smaller than size" in view._text.value
    controls["overlap"].value = 0
    assert (model.size, model.overlap, model.problem) == (SIZES[0], 0, "")
