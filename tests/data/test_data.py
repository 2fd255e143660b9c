"""The handbook and its questions hold what data/README.md and the course promise."""

import difflib
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise

import pytest

import ragkit as rk
from ragkit.evaluation import KINDS, gold_spans, recall_at_k
from ragkit.filters import version_order

STOP_WORDS = frozenset("""
a about after all am an and any are as at be been before but by can could did do does for from had has have how i
if in into is it its may me must my no not of off on one or our out over should so than that the their them then
there these they this to up us was we were what when where which who whom whose why will with without would you
your s t ve re ll d m don isn aren doesn didn get gets got much many
""".split())


@pytest.fixture(scope="module")
def report():
    return rk.load_folder(rk.data_path("handbook"))


@pytest.fixture(scope="module")
def documents(report):
    return {document.key: document for document in report.documents}


@pytest.fixture(scope="module")
def questions():
    return rk.load_questions()


def content_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold())) - STOP_WORDS


def han(text: str) -> int:
    return len(re.findall(r"[\u4e00-\u9fff]", text))


def test_the_handbook_loads_whole(report):
    assert report.problems == ()
    assert [warning.source for warning in report.warnings] == ["facilities/parking-rota.md"]


def test_the_handbook_is_large_enough(documents):
    chinese = [document for document in documents.values() if han(document.text) > 200]
    english = [document for document in documents.values() if han(document.text) <= 200]
    assert len(english) >= 40
    assert sum(len(document.text.split()) for document in english) >= 30_000
    assert len(chinese) >= 8
    assert sum(han(document.text) for document in chinese) >= 12_000


def test_the_handbook_holds_real_files_of_every_kind(documents):
    kinds = Counter(document.media_type for document in documents.values())
    assert set(kinds) == {"text/markdown", "text/plain", "text/html", "application/pdf",
                          "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}
    assert kinds.most_common(1)[0][0] == "text/markdown"


def test_every_document_says_what_it_is(documents):
    for document in documents.values():
        assert document.topic and document.effective_date and document.title and document.headings is not None
        assert document.audience


def test_one_group_has_documents_of_its_own(documents):
    restricted = [document.id for document in documents.values() if "public" not in document.audience]
    assert restricted == ["compensation-bands"]


def test_two_documents_carry_a_planted_instruction(documents):
    planted = [document.id for document in documents.values()
               if re.search(r"(ignore|disregard) (the|all|everything|any)[^.]{0,40}(above|documents|instructions|previous)",
                            document.text, re.IGNORECASE)]
    assert sorted(planted) == ["printer-and-meeting-room-faq", "supplier-letter-coldchain"]


def test_the_built_documents_are_what_the_script_builds():
    run = subprocess.run([sys.executable, rk.data_path("build_documents.py"), "--check"], capture_output=True,
                         text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_there_are_enough_questions_of_every_kind(questions):
    assert len(questions) >= 300
    assert len({question.id for question in questions}) == len(questions)
    assert len({question.question.casefold() for question in questions}) == len(questions)
    kinds = Counter(question.kind for question in questions)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 12
    assert kinds["unanswerable_far"] >= 50 and kinds["unanswerable_near"] >= 50


def test_the_halves_are_balanced_by_kind(questions):
    split = Counter((question.kind, question.split) for question in questions)
    for kind in KINDS:
        assert abs(split[kind, "dev"] - split[kind, "test"]) <= 1, kind


def test_answerable_questions_have_an_answer_and_the_others_none(questions):
    for question in questions:
        assert bool(question.answer) == question.answerable, question.id
        assert question.answerable == (not question.kind.startswith("unanswerable")), question.id


def test_every_gold_quote_is_found_where_it_says(questions, documents):
    for question in questions:
        spans = [span for group in gold_spans(question, documents) for span in group]
        quotes = [quote for group in question.gold for quote in group]
        assert [documents[span.document_id, span.version].text[span.start:span.end] for span in spans] == [
            quote.quote for quote in quotes], question.id


def test_multi_hop_questions_need_two_passages_and_the_restricted_ones_a_reader(questions, documents):
    for question in questions:
        assert (len(question.gold) >= 2) == (question.kind == "multi_hop"), question.id
        golds = [documents[quote.document, quote.version] for group in question.gold for quote in group]
        assert all("public" in gold.audience or gold.audience & question.reader for gold in golds), question.id
        if question.kind == "restricted":
            assert all("public" not in gold.audience for gold in golds), question.id


def test_the_gold_of_a_question_is_searched_under_its_filters(questions, documents):
    from ragkit.filters import select_documents

    for question in questions:
        allowed = select_documents(documents.values(), question.filters, question.reader).allowed
        for group in question.gold:
            assert any((quote.document, quote.version) in allowed for quote in group), question.id


def test_superseded_versions_really_conflict(documents):
    by_id: dict[str, list] = {}
    for document in documents.values():
        by_id.setdefault(document.id, []).append(document)
    versioned = {id_: sorted(group, key=version_order) for id_, group in by_id.items() if len(group) > 1}
    assert len(versioned) >= 5
    for id_, group in versioned.items():
        for old, new in pairwise(group):
            assert len(_conflicts(old.text, new.text)) >= 3, (id_, old.version, new.version)


def _conflicts(old: str, new: str) -> list[tuple[str, str]]:
    """Pairs of lines that say nearly the same with other numbers."""
    found = []
    for line in old.splitlines():
        for match in difflib.get_close_matches(line, new.splitlines(), n=1, cutoff=0.7):
            if line != match and re.findall(r"\d+", line) != re.findall(r"\d+", match):
                found.append((line, match))
    return found


def test_the_gold_of_an_old_version_is_gone_from_the_newest(questions, documents):
    newest = {document.id: document for document in sorted(documents.values(), key=version_order)}
    dated = [question for question in questions if question.filters.effective_before is not None]
    assert len(dated) >= 12
    for question in dated:
        for quote in (quote for group in question.gold for quote in group):
            if newest[quote.document].version != quote.version:
                assert quote.quote not in newest[quote.document].text, question.id


def test_questions_are_no_giveaways(questions):
    plain = [question for question in questions if question.kind in ("direct", "paraphrase")]
    giveaways = [question.id for question in plain if _overlap(question) > 0.6]
    assert len(giveaways) < len(plain) / 2
    paraphrases = [_overlap(question) for question in plain if question.kind == "paraphrase"]
    assert sum(paraphrases) / len(paraphrases) < 0.3


def _overlap(question) -> float:
    words = content_words(question.question)
    gold = [content_words(quote.quote) for group in question.gold for quote in group]
    return max(len(words & quote) / len(words) for quote in gold)


def test_the_plain_dense_chain_is_neither_lost_nor_at_ease(handbook, questions):
    """Recall@8 of the English dev questions lies in the band that chapter 02 needs."""
    wanted = [question for question in questions
              if question.split == "dev" and question.language == "en" and question.answerable]
    values = [recall_at_k(handbook.retrieve(question.question, question.filters, reader=question.reader).candidates,
                          gold_spans(question, handbook.corpus.documents), 8) for question in wanted]
    assert 0.6 <= sum(values) / len(values) <= 0.9


def test_no_two_documents_of_the_newest_state_are_the_same(documents):
    newest = {document.id: document for document in sorted(documents.values(), key=version_order)}
    for one, other in combinations(newest.values(), 2):
        assert one.text != other.text
