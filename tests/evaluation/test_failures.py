"""A failure planted at each link: the verdict names it, every time, and the change it names saves the question."""

import json
from dataclasses import replace

import pytest

from ragkit.citations.llm_judge import JudgeError
from ragkit.embedding import HashingEmbedder
from ragkit.evaluation.failures import Failure, attribute_failures
from ragkit.evaluation.questions import Question
from ragkit.evaluation.run import evaluate
from ragkit.generation import NO_ANSWER, RequestRejected, TextStream
from ragkit.knowledge_base import KnowledgeBase
from ragkit.refusal import Grade
from ragkit.trace import Drop, LinkTrace, Trace
from tests.fixtures import FLAT, base, document

CAP = "The hotel cap in Berlin is 180 euros a night."
TAXI = "A taxi ride in Berlin may cost 40 euros."
LEAVE = "Parental leave is agreed with the people team six weeks ahead."
ASKED = "What is the hotel cap in Berlin?"
RIGHT = "The hotel cap in Berlin is 180 euros a night. [1]"


class Scripted:
    """A generator that says what it is told, or fails as told."""

    name = "scripted"

    def __init__(self, text: str = RIGHT, error: Exception | None = None):
        self.text, self.error = text, error

    def generate(self, question, context):
        def produce(stream):
            if self.error:
                raise self.error
            yield self.text

        return TextStream(produce)


class Grades:
    """A grader that always gives the same grade, without signals."""

    name = "fixed"

    def __init__(self, score: float):
        self.score = score

    def grade(self, question, evidence):
        return Grade(self.score, self.score >= 0.5, 0.5, (), ("It does not say 'sauna'.",))


def quote(text: str = CAP, document_id: str = "travel", version: str = "1") -> dict:
    return {"document": document_id, "version": version, "quote": text}


def asked(*groups, text: str = ASKED, answer: str = "180 euros a night", id_: str = "q1", **more) -> Question:
    """A question whose gold groups are these; without any it cannot be answered."""
    return Question(id=id_, split="dev", kind="direct" if groups else "unanswerable_near", language="en", question=text,
                    answerable=bool(groups), answer=answer if groups else "", gold=groups, **more)


def failures(kb: KnowledgeBase, *questions: Question, says: str = RIGHT, error=None, answers=True, **more):
    more = {"generator": Scripted(says, error), **more} if answers else more
    return attribute_failures(evaluate(kb, questions, answers=answers, missing_gold="count", **more), kb)


def the_failure(kb: KnowledgeBase, question: Question, **more) -> Failure:
    (failure,) = failures(kb, question, **more)
    assert failure.question is question
    return failure


def test_what_is_right_is_no_failure():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None, min_score=0.3)
    nothing = asked(text="Who feeds zebras?", id_="q2")
    assert failures(kb, asked([quote()]), nothing) == []
    assert failures(kb, asked([quote()]), nothing, answers=False) == []


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize(("version", "evidence"), [
    ("2", "travel version 2 is not in the corpus; there is version 1"),
    ("1", "gone is not among the 2 documents of the corpus")])
def test_not_in_the_corpus(version, evidence, answers):
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    wanted = quote(document_id="travel" if version == "2" else "gone", version=version)
    failure = the_failure(kb, asked([wanted]), answers=answers)
    assert (failure.verdict, failure.link, failure.evidence.partition("; the answer")[0]) == (
        "not_in_corpus", "documents", evidence)
    assert failure.change == f"add {wanted['document']} version {version}" and not failure.verified


def test_lost_in_extraction_when_the_words_are_not_there():
    kb = base(document("travel", "The hotel cap in Berlin is  euros a night."), min_grade=None)
    failure = the_failure(kb, asked([quote()]))
    assert (failure.verdict, failure.link) == ("lost_in_extraction", "documents")
    assert f"'The hotel cap in Berlin is ', 27 of {len(CAP)}" in failure.evidence
    spaced = base(document("travel", CAP.replace(" in Berlin", "\nin Berlin")), min_grade=None)
    assert "with other white space" in the_failure(spaced, asked([quote()])).evidence


def test_lost_in_extraction_when_the_file_could_not_be_read(tmp_path):
    (tmp_path / "travel.pdf").write_bytes(b"%PDF-1.4 damaged")
    (tmp_path / "leave.txt").write_text(LEAVE, encoding="utf-8")
    kb = KnowledgeBase.from_folder(tmp_path, FLAT.replace(min_grade=None), HashingEmbedder(256), cache=False)
    failure = the_failure(kb, asked([quote()]))
    assert (failure.verdict, failure.link, failure.change) == ("lost_in_extraction", "documents", "mend travel.pdf")
    assert failure.evidence.startswith("travel.pdf: ")


def test_cut_by_chunking():
    kb = base(document("travel", CAP), chunker="fixed", chunk_size=30, min_grade=None)
    failure = the_failure(kb, asked([quote()]), answers=False)
    assert (failure.verdict, failure.link) == ("cut_by_chunking", "chunks")
    assert failure.evidence == (f"the quote of {len(CAP)} characters lies across 2 chunks; most of it, 30, is in "
                                "travel@1:L1:0-30")
    assert failure.change == "chunk_size 45" and "travel@1:L1:0-45 holds the quote" in failure.effect
    assert not failure.verified, "that needs a new index"
    assert failures(kb, asked([quote()]), says=RIGHT) == [], "the context joins pieces that touch"
    overlapping = base(document("travel", f"{LEAVE} {CAP}"), chunker="fixed", chunk_size=90, min_grade=None)
    change = the_failure(overlapping, asked([quote()]), answers=False).change
    settings = overlapping.settings.replace(chunk_overlap=int(change.removeprefix("chunk_overlap ")))
    again = KnowledgeBase(overlapping.documents, settings, overlapping.embedder)
    assert any(CAP in chunk.text for chunk in again.chunks)


def test_cut_on_one_level_and_whole_on_another():
    kb = base(document("travel", f"{LEAVE} {CAP} {TAXI}"), chunker="hierarchical", level_sizes=(200, 70, 30),
              expansion="parents", parent_level=2, min_grade=None)
    wanted = quote(f"{CAP} {TAXI}")
    failure = the_failure(kb, asked([wanted]), answers=False)
    assert (failure.verdict, failure.change, failure.verified) == (
        "cut_by_chunking", "parent_level 1", True), "that parents are read is so already"


@pytest.mark.parametrize(("made", "asked_with", "link", "evidence", "change"), [
    ({"topic": "travel"}, {"filters": {"topic": "leave"}}, "filter",
     "the filter topic asks for leave; travel has travel", "without the filter topic"),
    ({}, {"filters": {"document_id": "leave"}}, "filter",
     "the filter document_id asks for leave; travel has travel", "without the filter document_id"),
    ({"date": "2025-01-01"}, {"filters": {"effective_after": "2026-01-01"}}, "filter",
     "the filter effective_after asks for 2026-01-01; travel has 2025-01-01", "without the filter effective_after"),
    ({"audience": ["board"]}, {"reader": ["staff"]}, "permissions",
     "not_permitted: travel is for board; asked as staff", "reader board")])
def test_filtered(made, asked_with, link, evidence, change):
    kb = base(document("travel", CAP, **made), document("leave", LEAVE, topic="leave", date="2026-02-01"),
              min_grade=None)
    failure = the_failure(kb, asked([quote()], **asked_with), says="Six weeks. [1]")
    assert (failure.verdict, failure.link, failure.evidence, failure.change, failure.verified) == (
        "filtered", link, evidence, change, True)


def test_a_change_at_the_filter_is_told_beside_all_that_follows_it():
    decoys = [document(f"c{number}", "The hotel cap in Berlin is what it is.", topic="leave") for number in range(3)]
    kb = base(document("travel", CAP, topic="travel", audience=["board"]), *decoys, top_k=1, evidence_top_k=1,
              min_grade=None)
    failure = the_failure(kb, asked([quote()], text=decoys[0].text, filters={"topic": "leave"}), answers=False)
    assert (failure.verdict, failure.change, failure.verified) == (
        "filtered", "top_k 4, evidence_top_k 4, without the filter topic, reader board", True)
    again = asked([quote()], text=decoys[0].text, reader=["board"])
    assert failures(kb, again, answers=False, settings=kb.settings.replace(top_k=4, evidence_top_k=4)) == []


def test_two_versions_that_are_both_needed_are_not_mended_to_and_fro():
    kb = base(document("travel", CAP, date="2024-01-01"), document("travel", TAXI, "2", date="2025-01-01"),
              min_grade=None)
    failure = the_failure(kb, asked([quote()], [quote(TAXI, version="2")]), answers=False)
    assert failure.verdict == "filtered" and not failure.verified
    assert failure.effect == "lost at filter all the same" and failure.change.count("effective_before") == 1


@pytest.mark.parametrize(("expansion", "parent_level"), [("none", 1), ("parents", 2), ("parents", 1)])
def test_larger_chunks_hold_the_quote_on_the_level_that_is_read(expansion, parent_level):
    text = " ".join(f"Room {number} in Berlin costs {number}0 euros." for number in range(30))
    kb = base(document("travel", text), chunker="hierarchical", level_sizes=(300, 120, 40), expansion=expansion,
              parent_level=parent_level, min_grade=None)
    wanted = quote(text[250:400])  # longer than a leaf, and across the border of two chunks of each level
    failure = the_failure(kb, asked([wanted]), answers=False)
    assert (failure.verdict, failure.verified) == ("cut_by_chunking", False)
    sizes = tuple(map(int, failure.change.removeprefix("level_sizes ").split("/")))
    again = KnowledgeBase(kb.documents, kb.settings.replace(level_sizes=sizes), kb.embedder)
    assert "cut_by_chunking" not in [one.verdict for one in failures(again, asked([wanted]), answers=False)]


def test_the_level_that_is_set_already_is_no_change():
    kb = base(document("travel", f"{CAP} {TAXI} {LEAVE}"), chunker="hierarchical", level_sizes=(400, 200, 50),
              expansion="none", parent_level=1, min_grade=None)
    failure = the_failure(kb, asked([quote(f"{CAP} {TAXI}")]), answers=False)
    assert (failure.change, failure.verified) == ("expansion parents", True)


def test_a_step_that_a_later_one_makes_needless_is_left_out():
    first, last = "The hotel cap in Berlin is high.", "The hotel cap in Madrid is low."
    between = " ".join(f"Zebras of herd {number} sleep at noon." for number in range(5))
    kb = base(document("travel", f"{first} {LEAVE} {between} {TAXI} {last}"), chunker="hierarchical",
              level_sizes=(600, 120, 50), expansion="auto_merge", merge_ratio=1.0, top_k=4, min_grade=None)
    groups = f"{first} {LEAVE[:20]}", f"{TAXI[-15:]} {last}", f"{LEAVE[-9:]} {between[:60]}"
    failure = the_failure(kb, asked(*([quote(group)] for group in groups), text=f"{first} {last}?"), answers=False)
    # A readier merge mends the first group; the level that the last one needs does without it.
    assert (failure.change, failure.verified) == ("expansion parents, parent_level 1", True)


def test_filtered_as_superseded():
    kb = base(document("travel", CAP, date="2024-01-01"), document("travel", TAXI, "2", date="2025-01-01"),
              min_grade=None)
    failure = the_failure(kb, asked([quote()]), answers=False)
    assert (failure.verdict, failure.link, failure.change, failure.verified) == (
        "filtered", "filter", "effective_before 2024-01-01", True)
    assert failure.evidence.startswith("travel version 1 is superseded.")


# Twelve documents that share less and less with the question.
WORDS = "hotel cap berlin night room price city booking week summer winter floor".split()
FILLERS = [[f"filler{number}x{other}" for other in range(number)] for number in range(12)]
LADDER = [document(f"d{number:02}", " ".join(WORDS[:12 - number] + FILLERS[number]) + ".") for number in range(12)]


def test_recall_selection_and_threshold_over_a_grid():
    kb = base(*LADDER)
    text = " ".join(WORDS) + "?"
    everything = kb.retrieve(text, top_k=12, evidence_top_k=12, min_score=None).evidence
    ranked = [(hit.chunk.document_id, hit.score) for hit in everything]
    scores = [round(score, 6) for _, score in ranked]
    assert len(set(scores)) == 12, "no ties, so each rank is one document's"
    seen = set()
    for top_k, evidence_top_k, above in ((3, 2, 0), (6, 2, 4), (6, 6, 3), (12, 4, 7), (12, 12, 5), (1, 1, 0)):
        settings = kb.settings.replace(top_k=top_k, evidence_top_k=evidence_top_k, min_score=round(scores[above], 3))
        for rank, (id_, score) in enumerate(ranked, 1):
            question = asked([quote(kb.corpus.documents[id_, "1"].text, id_)], text=text, id_=id_)
            found = failures(kb, question, answers=False, settings=settings)
            expected = "not_recalled" if rank > top_k else "beyond_evidence_top_k" if rank > evidence_top_k \
                else "below_threshold" if score < settings.min_score else None
            assert [failure.verdict for failure in found] == ([] if expected is None else [expected])
            seen.add(expected)
            for failure in found:
                changes = dict(part.split() for part in failure.change.split(", "))
                assert changes.keys() == {name for name, needed in (
                    ("top_k", rank > top_k), ("evidence_top_k", rank > evidence_top_k),
                    ("min_score", score < settings.min_score)) if needed}, "nothing is changed without need"
                assert {changes[name] for name in ("top_k", "evidence_top_k") if name in changes} <= {str(rank)}
                if "min_score" in changes:
                    assert score - 0.001 < float(changes["min_score"]) <= max(score, 0)
                assert failure.verified and failure.effect == "the gold is then in the evidence"
    assert seen == {None, "not_recalled", "beyond_evidence_top_k", "below_threshold"}


def test_evidence_of_the_three():
    kb = base(*LADDER, top_k=3, evidence_top_k=2)
    text = " ".join(WORDS) + "?"
    by_rank = [asked([quote(one.text, one.id)], text=text, id_=one.id) for one in LADDER]
    not_recalled, beyond = failures(kb, by_rank[7], by_rank[2], answers=False)
    assert not_recalled.evidence.startswith("rank 8 of 12: d07@1:L1:0-")
    assert "; top_k 3 ends at 0." in not_recalled.evidence
    assert not_recalled.link == "recall"
    assert beyond.evidence.endswith("; rank 3, evidence_top_k 2") and beyond.link == "select"
    (below,) = failures(kb, by_rank[1], answers=False, settings=kb.settings.replace(min_score=0.999))
    assert below.evidence.endswith("; min_score 0.999") and below.link == "select"


def test_dropped_by_rerank():
    """The link comes later; it is known by its trace."""
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    evaluation = evaluate(kb, [asked([quote()])], answers=False)
    (outcome,) = evaluation
    gold, other = outcome.result.candidates
    links = {entry.link: entry for entry in outcome.result.trace.links}
    rerank = LinkTrace("rerank", 2, 1, (Drop(gold.chunk.id, "travel", 0.02, "not_in_rerank_top_k", "rank 2 of 2"),))
    trace = Trace((links["filter"], links["recall"], rerank, LinkTrace("expand", 1, 1), LinkTrace("select", 1, 1)))
    outcome = replace(outcome, result=replace(outcome.result, evidence=(other,), trace=trace))
    (failure,) = attribute_failures(replace(evaluation, outcomes=(outcome,)), kb)
    assert (failure.verdict, failure.link) == ("dropped_by_rerank", "rerank")
    assert failure.evidence == f"{gold.chunk.id} at 0.020: not_in_rerank_top_k (rank 2 of 2)"


def test_lost_in_expansion_where_too_few_siblings_were_hit():
    kb = base(document("travel", f"{CAP} {TAXI} {LEAVE}"), chunker="hierarchical", level_sizes=(200, 50),
              expansion="auto_merge", merge_ratio=0.9, top_k=2, min_grade=None)
    failure = the_failure(kb, asked([quote(f"{CAP} {TAXI}")]), answers=False)
    assert (failure.verdict, failure.link) == ("lost_in_expansion", "expand")
    assert failure.evidence == "travel@1:L2:0-45 was found, but no context after it holds the quote"
    name, ratio = failure.change.split()
    assert name == "merge_ratio" and failure.verified
    leaves = len(kb.chunks)
    assert float(ratio) <= 2 / leaves < float(ratio) + 0.05, "the largest twentieth that two siblings reach"


def test_lost_in_expansion_where_a_parent_is_missing():
    kb = base(document("travel", f"{CAP} {TAXI}"), chunker="hierarchical", level_sizes=(200, 50), expansion="parents",
              parent_level=1, min_grade=None)
    (parent,) = (id_ for id_, chunk in kb.corpus.chunks.items() if chunk.level == 1)
    del kb.corpus.chunks[parent]
    failure = the_failure(kb, asked([quote(f"{CAP} {TAXI}")]), answers=False)
    assert (failure.verdict, failure.link, failure.change) == (
        "lost_in_expansion", "expand", "index the documents again")
    assert f"parent {parent} is missing" in failure.evidence


def test_cut_from_the_context():
    kb = base(document("travel", CAP), document("taxi", f"{TAXI} The hotel pays nothing."), min_grade=None)
    text = "May a taxi ride in Berlin from the hotel cost 40 euros?"
    settings = kb.settings.replace(context_tokens=30)
    failure = the_failure(kb, asked([quote()], text=text), says="It may cost 40 euros. [1]", settings=settings)
    assert (failure.verdict, failure.link) == ("cut_from_context", "context")
    assert "over_budget" in failure.evidence
    least = int(failure.change.removeprefix("context_tokens "))
    assert failure.verified and failure.effect.startswith("the gold is then in the context")

    def sources(budget):
        return [source.text for source in kb.ask(text, context_tokens=budget, generator=Scripted()).context]

    assert CAP in sources(least) and CAP not in sources(least - 1)


def test_a_context_that_holds_nothing():
    kb = base(document("travel", CAP), min_grade=None, context_tokens=3)
    failure = the_failure(kb, asked([quote()]))
    assert (failure.verdict, failure.link, failure.verified) == ("cut_from_context", "context", True)
    assert "holds no source" in failure.evidence


def test_a_duplicate_is_read_in_its_twin():
    kb = base(document("travel", CAP), document("also", f"{CAP} {TAXI}"), chunker="sentence", chunk_size=300,
              min_grade=None)
    question = asked([quote()], text="What may a hotel in Berlin cost, and what a taxi ride?")
    context = kb.ask(question.question, generator=Scripted()).context
    assert [(drop.document_id, drop.reason) for drop in context.drops] == [("travel", "duplicate")]
    assert failures(kb, question, says=RIGHT) == []


def test_the_budget_is_the_smallest_that_keeps_the_gold_in_a_piece_that_is_cut():
    tail = " ".join(f"The hotel cap of city {number} is {number} euros a night." for number in range(20))
    kb = base(document("travel", f"{LEAVE} {CAP} {tail}"), chunk_size=3000, min_grade=None, context_tokens=20)
    failure = the_failure(kb, asked([quote()]), answers=True)
    assert failure.verdict == "cut_from_context" and failure.verified
    least = int(failure.change.removeprefix("context_tokens "))
    whole = kb.ask(ASKED, context_tokens=5000, generator=Scripted()).context.tokens
    assert least < whole / 2, "the rest of the piece is not needed"
    held = {budget: any(CAP in source.text for source in kb.ask(ASKED, context_tokens=budget,
                                                                generator=Scripted()).context)
            for budget in (least, least - 1)}
    assert held == {least: True, least - 1: False}


def test_generated_wrongly():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    failure = the_failure(kb, asked([quote()]), says="The hotel cap in Berlin is 210 euros a night. [1]")
    assert (failure.verdict, failure.link) == ("generated_wrongly", "generate")
    assert "210 euros" in failure.evidence and "right is '180 euros a night'" in failure.evidence
    assert (failure.change, failure.verified, failure.effect) == (
        "generator extractive", True, "the answer is then right")


def test_cited_wrongly():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    elsewhere = the_failure(kb, asked([quote()]), says=RIGHT.replace("[1]", "[2]"))
    assert (elsewhere.verdict, elsewhere.link, elsewhere.change, elsewhere.verified) == (
        "cited_wrongly", "verify", "cite [1]", True)
    nowhere = the_failure(kb, asked([quote()]), says=RIGHT.replace("[1]", "[7]"))
    assert (nowhere.verdict, nowhere.change) == ("cited_wrongly", "cite [1]")
    assert "[7] does not exist" in nowhere.evidence
    both = the_failure(kb, asked([quote()]), says=RIGHT.replace("[1]", "[1][7]"))
    assert (both.verdict, both.change) == ("cited_wrongly", "leave out [7]")
    uncited = the_failure(kb, asked([quote()]), says=RIGHT.removesuffix(" [1]"))
    assert (uncited.verdict, uncited.change) == ("cited_wrongly", "cite [1]")
    invented = the_failure(kb, asked([quote()]), says=f"{RIGHT} Zebras sleep in Madrid at noon. [2]")
    assert (invented.verdict, invented.change, invented.verified) == ("cited_wrongly", "", False)


def test_refused_wrongly_by_the_generator():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    failure = the_failure(kb, asked([quote()]), says=NO_ANSWER)
    assert (failure.verdict, failure.link, failure.change, failure.verified) == (
        "refused_wrongly", "generate", "generator extractive", True)


def test_refused_wrongly_by_the_grade():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=1.0)
    failure = the_failure(kb, asked([quote()]), generator="extractive")
    assert (failure.verdict, failure.link, failure.verified) == ("refused_wrongly", "grade", True)
    assert failure.evidence.startswith("The evidence is graded 0.") and failure.effect == "the answer is then right"
    least = float(failure.change.removeprefix("min_grade "))
    assert not kb.ask(ASKED, min_grade=least).refused and kb.ask(ASKED, min_grade=least + 0.001).refused
    other = the_failure(kb, asked([quote()]), grader=Grades(0.31))
    assert (other.verdict, other.link, other.change, other.verified) == (
        "refused_wrongly", "grade", "min_grade 0.31", False)


def test_failed_with_an_error():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    failure = the_failure(kb, asked([quote()]), error=RequestRejected("the key is wrong"))
    assert (failure.verdict, failure.link, failure.evidence) == (
        "failed_with_error", "generate", "RequestRejected: the key is wrong")
    nothing = the_failure(kb, asked(), error=RequestRejected("the key is wrong"))
    assert nothing.verdict == "failed_with_error", "an error is never a right refusal"


def test_an_error_of_the_judge_is_told_at_its_link():
    class Silent:
        name = "silent"

        def judge(self, claims, source):
            raise JudgeError("no verdict in it")

    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    failure = the_failure(kb, asked([quote()]), judge=Silent())
    assert (failure.verdict, failure.link, failure.evidence) == (
        "failed_with_error", "verify", "JudgeError: no verdict in it")


def test_an_error_of_the_language_model_and_what_the_extractive_generator_would_do():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None, generator="openai:none")
    failure = the_failure(kb, asked([quote()]), error=RequestRejected("the key is wrong"))
    assert (failure.change, failure.verified, failure.effect) == (
        "generator extractive", True, "it is then answered rightly")


def test_an_error_in_the_search():
    kb = base(document("travel", CAP), min_grade=None)
    evaluation = evaluate(kb, [asked([quote()])], answers=False)
    broken = replace(evaluation.outcomes[0], result=None, error="ValueError: NaN")
    (failure,) = attribute_failures(replace(evaluation, outcomes=(broken,)), kb)
    assert (failure.verdict, failure.link, failure.evidence) == ("failed_with_error", "recall", "ValueError: NaN")


def test_answered_though_it_should_have_been_refused():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    right = asked([quote()])
    wrong = asked(text="When is the sauna open?", id_="q2")
    (invented,) = failures(kb, right, wrong, says=f"{RIGHT} The sauna opens at noon. [1]")[1:]
    assert (invented.verdict, invented.link) == ("answered_wrongly", "generate")
    assert "no source says 'The sauna opens at noon. [1]'" in invented.evidence
    (quoted,) = failures(kb, right, wrong, says=RIGHT)
    assert (quoted.verdict, quoted.link, quoted.verified) == ("answered_wrongly", "select", True)
    assert quoted.effect == "it is then refused, and with it 0 of the 1 questions answered rightly"
    least = float(quoted.change.removeprefix("min_score "))
    assert kb.retrieve(wrong.question, min_score=least).refused and not kb.retrieve(
        wrong.question, min_score=round(least - 0.001, 3)).refused
    (evidence_only,) = failures(kb, right, wrong, answers=False)
    assert (evidence_only.verdict, evidence_only.link) == ("answered_wrongly", "select")


def test_every_group_is_needed_and_the_first_link_counts():
    kb = base(document("travel", CAP, topic="travel"), document("taxi", TAXI, topic="taxi"), min_grade=None)
    two = asked([quote()], [quote(TAXI, "taxi")], filters={"topic": "travel"})
    failure = the_failure(kb, two, answers=False)
    assert (failure.verdict, failure.losses[0].group, len(failure.losses)) == ("filtered", 2, 1)
    both = asked([quote(LEAVE)], [quote(TAXI, "taxi")], [quote()], filters={"topic": "travel"})
    failure = the_failure(kb, both, answers=False)
    assert [(loss.group, loss.verdict) for loss in failure.losses] == [(1, "lost_in_extraction"), (2, "filtered")]
    assert (failure.verdict, failure.verified) == ("lost_in_extraction", False)


def test_losses_at_two_links_are_mended_together():
    text = " ".join(WORDS) + "?"
    kb = base(*LADDER, top_k=5, evidence_top_k=2)
    needed = asked(*([quote(LADDER[number].text, f"d{number:02}")] for number in (3, 8)), text=text)
    failure = the_failure(kb, needed, answers=False)
    assert [(loss.group, loss.verdict) for loss in failure.losses] == [
        (2, "not_recalled"), (1, "beyond_evidence_top_k")]
    assert (failure.change, failure.verified) == ("top_k 9, evidence_top_k 9", True)


def test_of_alternatives_any_will_do_and_the_nearest_is_told():
    text = " ".join(WORDS) + "?"
    kb = base(*LADDER, top_k=3, evidence_top_k=2)

    def any_of(*numbers):
        return asked([quote(LADDER[number].text, f"d{number:02}") for number in numbers], text=text)

    assert failures(kb, any_of(11, 0), answers=False) == []
    failure = the_failure(kb, any_of(11, 2, 5), answers=False)
    assert (failure.verdict, failure.losses[0].quote.document) == ("beyond_evidence_top_k", "d02")
    failure = the_failure(kb, any_of(11, 5, 9), answers=False)
    assert (failure.verdict, failure.losses[0].quote.document) == ("not_recalled", "d05")


def test_a_change_that_needs_more_evidence_than_a_context_holds_is_not_tried_to_the_end():
    crowd = [document(f"c{number:02}", f"What is the hotel cap in Berlin? {'x' * number}") for number in range(30)]
    kb = base(document("travel", "It is 180 euros a night."), *crowd, top_k=1, min_grade=None)
    failure = the_failure(kb, asked([quote("It is 180 euros a night.")]), says="It is 20 euros. [1]")
    assert (failure.verdict, failure.change, failure.verified) == (
        "not_recalled", "top_k 31, evidence_top_k 31", False)
    assert failure.effect == "the gold is then among 31 pieces of evidence, too many"


def test_gold_that_is_missing_counts_though_the_answer_sounds_right():
    kb = base(document("travel", CAP), document("taxi", "A taxi may cost 180 euros."), top_k=1, min_grade=None)
    failure = the_failure(kb, asked([quote()], text="What may a taxi cost?"), says="It may cost 180 euros. [1]")
    assert failure.verdict == "not_recalled" and "look whether what it cites belongs to the gold" in failure.evidence


def test_a_change_is_tried_with_the_extractive_generator():
    decoy = document("decoy", "What the hotel cap in Berlin is, is the hotel cap.")
    kb = base(document("travel", CAP), decoy, top_k=1, min_grade=None)
    failure = the_failure(kb, asked([quote()]), generator="extractive")
    assert (failure.verdict, failure.change, failure.verified, failure.effect) == (
        "not_recalled", "top_k 2", True, "the answer is then right")
    assert "180 euros" in kb.ask(ASKED, top_k=2).text


def test_a_change_that_brings_the_gold_and_still_no_right_answer_is_not_called_verified():
    kb = base(document("travel", CAP), document("leave", LEAVE), top_k=1, min_grade=None)
    text = "What is agreed on parental leave with the people team, and the hotel cap?"
    failure = the_failure(kb, asked([quote()], text=text), generator="extractive")
    assert (failure.verdict, failure.change, failure.verified, failure.effect) == (
        "not_recalled", "top_k 2", False, "the gold is then in the context; it is still answered wrongly")
    generated = the_failure(kb, asked([quote()], text=text), generator="extractive",
                            settings=kb.settings.replace(top_k=2))
    assert (generated.verdict, generated.link, generated.change) == ("generated_wrongly", "generate", "")


def test_less_to_read_is_tried_where_the_extractive_generator_quotes_another_sentence():
    gold = "For a hotel the cap in Berlin is 180 euros."
    nearer = ("The hotel cap in Berlin is high.", "A hotel cap in Berlin is low.", "Some hotel cap in Berlin is old.")
    kb = base(document("travel", f"What is the hotel cap? {gold}"),
              *(document(f"z{number}", text) for number, text in enumerate(nearer)), min_grade=None)
    failure = the_failure(kb, asked([quote(gold)]), generator="extractive")
    assert (failure.verdict, failure.change, failure.verified) == ("generated_wrongly", "evidence_top_k 3", True)
    assert "180 euros" in kb.ask(ASKED, evidence_top_k=3).text and "180" not in kb.ask(ASKED).text


def test_an_occurrence_may_overlap_the_one_before():
    kb = base(document("travel", "The code is ababab."), min_grade=None)
    wanted = quote("abab") | {"occurrence": 2}
    assert failures(kb, asked([wanted], text="What is the code ababab?"), answers=False) == []
    cut = base(document("travel", "The code is ababab."), chunker="fixed", chunk_size=15, min_grade=None)
    assert the_failure(cut, asked([wanted]), answers=False).verdict == "cut_by_chunking"


def test_another_knowledge_base_than_the_one_that_was_evaluated_is_an_error():
    kb = base(document("travel", CAP), document("leave", LEAVE), min_grade=None)
    evaluation = evaluate(kb, [asked([quote()])], answers=False)
    with pytest.raises(ValueError, match="built with chunk_size 20, and the settings say 250"):
        attribute_failures(evaluation, base(document("travel", CAP), chunk_size=20))
    with pytest.raises(ValueError, match="travel@1.* was found, and the knowledge base has no such chunk"):
        attribute_failures(evaluation, base(document("other", CAP)))


def test_a_quote_that_occurs_twice_is_an_error():
    kb = base(document("travel", f"{CAP} {CAP}"), min_grade=None)
    with pytest.raises(ValueError, match="holds the quote .* 2 times; give its occurrence"):
        failures(kb, asked([quote()]), answers=False)


def test_it_prints_shows_and_goes_to_json():
    kb = base(document("travel", CAP), document("<b>", TAXI), min_grade=None)
    failure = the_failure(kb, asked([quote(TAXI, "<i>gone")]), answers=False)
    assert str(failure).splitlines() == [
        f"q1: {ASKED}", "  lost at documents: not_in_corpus. <i>gone is not among the 2 documents of the corpus",
        "  change: add <i>gone version 1"]
    assert "&lt;i&gt;gone" in failure._repr_html_() and "<i>" not in failure._repr_html_()
    plain = json.loads(json.dumps(failure.to_dict()))
    assert (plain["verdict"], plain["link"], plain["losses"][0]["document"]) == (
        "not_in_corpus", "documents", "<i>gone")
