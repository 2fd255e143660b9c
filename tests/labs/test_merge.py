"""The lab of chapter 04 without a browser: it shows what the chain gives, and its counts are the chain's."""

import datetime
import io
from statistics import mean

import numpy as np
import pytest
from PIL import Image

from ragkit.documents import Document
from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import GoldQuote, Question, found_groups, gold_spans
from ragkit.knowledge_base import KnowledgeBase
from ragkit.labs import merge_lab
from ragkit.labs.merge import EXPANSIONS, MOST, WIDEST, MergeModel
from ragkit.parents import auto_merge, expand_parents
from ragkit.retrieval import decide, recall
from ragkit.settings import Settings

WORDS = ("anchor", "beacon", "cargo", "dock", "engine", "ferry", "gale", "harbour", "island", "jetty", "keel", "lock")
SETTINGS = Settings(level_sizes=(300, 150, 60), evidence_top_k=3)


def document(id_, words=WORDS, **more):
    text = "\n\n".join(f"## The {word}\n\nThe {word} is painted first. The {word} costs {number} euros. Then it <b>dries</b>."
                       for number, word in enumerate(words, 11))
    return Document(id=id_, title=id_, text=text, **more)


def question(number, word, document_id="guide"):
    return Question(id=f"q-{number}", split="dev", kind="direct", language="en", question=f"What does the {word} cost?",
                    answerable=True, answer=f"{11 + WORDS.index(word)} <euros>",
                    gold=[[GoldQuote(document=document_id, version="1",
                                     quote=f"The {word} costs {11 + WORDS.index(word)} euros.")]])


QUESTIONS = [question(number, word) for number, word in enumerate(WORDS[:6])]


@pytest.fixture(scope="module")
def base():
    return KnowledgeBase([document("guide"), document("other", WORDS[::-1], effective_date=datetime.date(2025, 1, 1))],
                         SETTINGS, HashingEmbedder())


@pytest.fixture(scope="module")
def lab(base):
    return merge_lab(base, QUESTIONS)


@pytest.fixture
def model(lab):
    model = lab.model
    model.question, model.expansion, model.top_k, model.ratio, model.hand = "q-0", "none", 8, 0.5, ""
    return model


def test_it_reads_what_the_links_give(model, base):
    chunks = base.corpus.chunks
    hits = model.result().candidates
    assert len(hits) == 8
    for expansion, wanted in (("none", hits), ("parents 2", expand_parents(hits, chunks, 2).hits),
                              ("parents 1", expand_parents(hits, chunks, 1).hits),
                              ("auto_merge", auto_merge(hits, chunks, 0.5).hits)):
        model.expansion = expansion
        assert model.result().evidence == wanted[:3]
        assert model.characters() == sum(len(hit.chunk.text) for hit in wanted[:3])


@pytest.mark.parametrize("expansion", EXPANSIONS.values())
@pytest.mark.parametrize(("top_k", "ratio"), [(1, 0.05), (5, 0.5), (8, 0.51), (12, 0.67), (MOST, 0.8), (MOST, 1.0)])
def test_the_counts_over_all_questions_are_those_of_the_chain(model, base, expansion, top_k, ratio):
    model.expansion, model.top_k, model.ratio = expansion, top_k, ratio
    settings = SETTINGS.replace(min_score=None, top_k=top_k, merge_ratio=ratio, expansion=expansion.split()[0],
                                parent_level=int((expansion.split() + ["1"])[1]) if " " in expansion else 1)
    evidence = [decide(recall(q.question, settings, corpus=base.corpus), settings).evidence for q in QUESTIONS]
    found = [mean(found_groups(hits, gold_spans(q, base.documents))) for hits, q in zip(evidence, QUESTIONS, strict=True)]
    read = [sum(len(hit.chunk.text) for hit in hits) for hits in evidence]
    assert model.totals() == pytest.approx((mean(found), mean(read)))


def test_hits_by_hand(model, base):
    model.expansion, model.ratio = "auto_merge", 0.5
    asked = model._asked["q-0"]
    family = [number for number, chunk in enumerate(asked.children, 1)
              if chunk.parent_id == asked.children[0].parent_id]
    assert len(family) >= 2
    model.hand = f"{family[1]}, {family[0]} {family[0]}"
    (context,) = model.result().evidence
    assert context.chunk.level < 3 and len(context.matched) == 2
    assert {chunk.id for chunk in asked.children[:2]} == set(context.matched)
    vector = base.embedder.encode_queries([QUESTIONS[0].question])[0]
    assert context.score == pytest.approx(max(
        float(base.corpus.index.reconstruct([id_])[0] @ vector) for id_ in context.matched), abs=1e-5)
    assert "2 children hit by hand" in model.html()
    before = model.totals()
    model.hand = ""
    assert len(model.result().candidates) == 8 and model.totals() == before


@pytest.mark.parametrize(("name", "value", "message"), [
    ("ratio", 0.0, r"merge_ratio \(0.0\)"), ("top_k", 0, r"top_k \(0\)"), ("top_k", MOST + 1, "at most 16"),
    ("question", "q-99", "no question 'q-99'"), ("expansion", "grandparents", "expansion"),
    ("hand", "1 x", "child 'x'"), ("hand", "0", "child '0'"), ("hand", "999", "child '999'"), ("hand", "-1", "'-1'")])
def test_a_wrong_value_is_named(model, name, value, message):
    setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        model.html()
    with pytest.raises(ValueError, match=message):
        model.png()


def test_the_text_tells_gold_from_no_gold_and_is_escaped(model):
    model.expansion = "none"
    text = model.html()
    assert "11 &lt;euros&gt;" in text and "<euros>" not in text and "<b>dries" not in text
    held = [any(found_groups([hit], model._asked["q-0"].gold)) for hit in model.result().evidence]
    assert text.count("&#9670; yes") == sum(held)
    model.expansion = "parents 1"
    assert "&#9670; yes" in model.html() and model.gold_found() == 1.0


def test_every_knob_moves_the_picture(model):
    def pixels():
        return np.asarray(Image.open(io.BytesIO(model.png())))

    model.expansion = "auto_merge"
    seen = [pixels()]
    for name, value in (("top_k", 3), ("expansion", "parents 1"), ("question", "q-4"), ("hand", "1 2")):
        setattr(model, name, value)
        seen.append(pixels())
        assert seen[-1].shape == seen[0].shape
        assert (seen[-1] != seen[-2]).any(), name


def written(model):
    return [text.get_text() for text in model.picture.figure.axes[0].texts if text.get_visible()]


def test_the_figure_shows_the_present_state(model):
    model.expansion = "auto_merge"
    for model.hand, count in (("1", 1), ("1 2", 2)):
        assert sum(text.startswith("0.") for text in written(model)) == count
    assert "1" in written(model), "the rank of the context"


def test_a_hit_that_is_not_read_looks_otherwise(model):
    model.expansion = "none"
    inside = {chunk.id for chunk in model._asked["q-0"].stretch}
    model.hand = " ".join(str(number) for number in range(1, 6))
    assert {hit.chunk.id for hit in model.result().candidates} <= inside
    model.png()
    picture = model._tree_picture
    assert [len(part.get_paths()) for part in (picture._hit, picture._left, picture._read)] == [3, 2, 3]
    model.expansion = "parents 1"
    model.png()
    assert len(picture._left.get_paths()) == 0, "all of them are read within their parents"


def test_a_long_document_is_shown_in_part():
    many = tuple(f"word{number}" for number in range(60))
    base = KnowledgeBase([document("long", many)], SETTINGS, HashingEmbedder())
    asked = Question(id="q", split="dev", kind="direct", language="en", question="What does the word41 cost?",
                     answerable=True, answer="52", gold=[[GoldQuote(document="long", version="1",
                                                                    quote="The word41 costs 52 euros.")]])
    model = MergeModel(base, [asked])
    shown = model._asked["q"]
    assert len(shown.children) <= WIDEST < shown.total
    assert model.result().candidates[0].chunk in shown.children
    assert len(model.png()) > 1000 and f"{len(shown.children)} of its {shown.total} children" in written(model)[-1]


def test_chunks_without_parents_stay_as_they_are():
    base = KnowledgeBase([document("guide")], Settings(chunker="fixed", chunk_size=60, evidence_top_k=3), HashingEmbedder())
    model = MergeModel(base, QUESTIONS)
    model.png()
    plain = model.result().evidence, model.totals()
    for model.expansion in ("parents 2", "parents 1", "auto_merge"):
        model.png()
        assert (model.result().evidence, model.totals()) == plain


def test_the_widget_passes_on_what_is_moved(lab, model):
    lab.controls["expansion"].value = "parents 1"
    lab.controls["top_k"].value = 5
    assert (model.expansion, model.top_k) == ("parents 1", 5)
    lab.controls["hand"].value = "77777"
    assert "child" in lab._error.value and model.hand == ""
    lab.controls["hand"].value = ""
    lab.controls["ratio"].value = 1.0
    assert lab._error.value == "" and model.ratio == 1.0
