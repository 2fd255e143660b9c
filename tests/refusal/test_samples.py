"""What must be refused, from files in a folder, in English and Chinese; and what an asker may not see shows nowhere."""

import dataclasses
import json

import pytest

from ragkit.embedding import make_embedder
from ragkit.knowledge_base import KnowledgeBase
from ragkit.refusal import Grade
from ragkit.settings import Settings
from tests.fixtures import base, document, minilm

FILES = {
    "canteen-1.md": ("id: canteen\nversion: 1\neffective_date: 2024-01-01\ntopic: food",
                     "# Canteen\n\nLunch is served from noon to two. Oysters are sold on the first Friday."),
    "canteen-2.md": ("id: canteen\nversion: 2\neffective_date: 2026-01-01\ntopic: food",
                     "# Canteen\n\nLunch is served from noon to two. Guests are welcome."),
    "travel.md": ("id: travel\ntopic: travel",
                  "# Travel\n\n| City | Cap in EUR |\n|---|---|\n| Berlin | 150 |\n\nError TR-42 means: no approval."),
    "bus.md": ("id: bus\ntopic: 苏州", "# 班车\n\n班车每天早上七点半从火车站出发。乘车需要工牌。"),
    "empty.md": (None, ""),
    "plain.txt": (None, "The car park has 12 spaces behind building C. 🚗\r\n"),
}
SECRET = {
    "bonus.md": ("id: bonus\ntopic: people\naudience: [people-team]",
                 "# Bonus\n\nFirmware engineers who stay until 2027 receive a bonus of 12 percent."),
    "bonus-zh.md": ("id: 奖金\ntopic: 人事\naudience: [people-team]", "# 奖金\n\n留任的固件工程师可获得百分之十二的奖金。"),
    "canteen-3.md": ("id: canteen\nversion: 3\neffective_date: 2026-06-01\ntopic: food\naudience: [board]",
                     "# Canteen\n\nLunch is served from one to three. Caviar is sold on Mondays."),
    "travel-board.md": ("id: travel-board\ntopic: travel\naudience: [board]",
                        "# Travel\n\n| City | Cap in EUR |\n|---|---|\n| Berlin | 900 |\n\nError TR-99 means: ask the board."),
}
QUESTIONS = ["Who painted the Night Watch?", "On which day are oysters sold?", "Which bonus do firmware engineers receive?",
             "On which day is caviar sold?", "What does TR-99 mean?", "What is the hotel cap in Berlin?",
             "When is lunch served?", "固件工程师的奖金是多少？", "班车几点出发？", "谁画了蒙娜丽莎？"]
FILTERS = [None, {"topic": "people"}, {"topic": "人事"}, {"document_id": "bonus"}, {"topic": "food"},
           {"effective_before": "2026-07-01"}, {"effective_after": "2026-05-01"}]
ASKED = [{"min_score": None, "min_grade": None}, {"min_score": 0.9}, {"min_grade": 0.99}, {"context_tokens": 5}]


def folder(path, *groups):
    path.mkdir()
    for name, (metadata, text) in (item for group in groups for item in group.items()):
        head = "" if metadata is None else f"---\n{metadata}\n---\n"
        (path / name).write_bytes(f"{head}{text}".encode())
    return path


@pytest.fixture(scope="module", params=["minilm", "multilingual"])
def both(request, tmp_path_factory):
    """The same folder with and without what outsiders may not see."""
    return pair(minilm() if request.param == "minilm" else make_embedder("multilingual"), tmp_path_factory)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return pair(minilm(), tmp_path_factory)[0]


def pair(embedder, tmp_path_factory):
    root = tmp_path_factory.mktemp("samples")
    return [KnowledgeBase.from_folder(folder(root / name, *groups), Settings(), embedder, cache=False)
            for name, groups in (("with", (FILES, SECRET)), ("without", (FILES,)))]


def fields(answer):
    plain = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
    told = answer.to_dict()
    for entry in told["trace"]["links"]:
        del entry["milliseconds"]
    return plain | {"repr": repr(plain), "str": str(answer), "html": answer._repr_html_(), "json": json.dumps(told),
                    "refused_by": answer.refused_by}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_outsiders_answer_is_the_one_without_the_document(both, question):
    with_it, without = both
    for asked in [{"filters": filters} for filters in FILTERS] + ASKED:
        got, wanted = (fields(kb.ask(question, **asked)) for kb in both)
        for name, value in wanted.items():
            assert got[name] == value, (name, asked)
    told, plain = with_it.ask(question, operator=True), without.ask(question)
    assert told.trace["permissions"].excluded == (("not_permitted", 4),)
    assert (told.text, told.refusal_reason, told.explanation) == (plain.text, plain.refusal_reason, plain.explanation)


@pytest.mark.parametrize(("question", "reason", "link", "said"), [
    ("Who painted the Night Watch?", "below_threshold", "select", "below min_score 0.25"),
    ("On which day are oysters sold?", "below_threshold", "select", "effective_before=2024-01-01 asks for this one."),
    ("Which bonus do firmware engineers receive?", "below_threshold", "select", "below min_score 0.25"),
    ("What does TR-43 mean?", "insufficient_evidence", "grade", "identifiers: not in the evidence: TR-43"),
    ("What does lunch in the canteen cost?", "insufficient_evidence", "grade", "not an amount of money"),
])
def test_what_must_be_refused_says_why_and_by_which_link(kb, question, reason, link, said):
    answer = kb.ask(question)
    assert (answer.refused, answer.refusal_reason, answer.refused_by) == (True, reason, link)
    assert said in answer.explanation and not answer.documents
    assert not kb.ask("When is lunch served in the canteen?").refused_by


def test_an_answer_holds_the_documents_of_its_sources_and_no_others():
    kb = base(document("cap", "The hotel cap in Berlin is 180 euros."), document("zebra", "Stripes."),
              document("secret", "The hotel cap of the board is unlimited.", audience=["board"]), min_grade=None)
    answer = kb.ask("What is the hotel cap in Berlin?", evidence_top_k=1)
    assert set(answer.documents) == {("cap", "1")} == {source.key for source in answer.context}
    assert kb.ask("zebra", min_score=1.0).documents == {}


class Fixed:
    name = "fixed"

    def __init__(self, grade):
        self.given = grade

    def grade(self, question, evidence):
        return self.given


@pytest.mark.parametrize(("grade", "explanation"), [
    (Grade(0.4998, False, 0.5), "The evidence is graded 0.4998, below min_grade 0.5."),
    (Grade(0.0, False, 0.5, reasons=("no price",)), "The evidence is graded 0.000, below min_grade 0.5: no price."),
    (Grade(0.7, False, 0.5, reasons=("no price",)), "The grader says that the evidence is not enough: no price."),
])
def test_a_grade_that_is_too_low_reads_well_and_is_true(grade, explanation):
    answer = base(document("a")).ask("All about a.", grader=Fixed(grade))
    assert (answer.explanation, answer.refused_by) == (explanation, "grade")


def test_by_which_link_an_answer_was_refused_after_the_grade():
    kb = base(document("a", "The hotel cap in Berlin is 180 euros."), min_grade=None)
    assert kb.ask("Hotel cap?", context_tokens=3).refused_by == "context"
    assert kb.ask("Hotel cap?", min_score=1.0).refused_by == "select"
    assert kb.ask("Hotel cap?", {"topic": "x"}).refused_by == "filter"
