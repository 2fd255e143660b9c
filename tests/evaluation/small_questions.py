"""A few documents and questions whose answers are known, for the tests of runs and comparisons."""

from ragkit.documents import Document
from ragkit.embedding import HashingEmbedder
from ragkit.evaluation import Question
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings

SETTINGS = Settings(embedder="hashing", chunker="sentence", chunk_size=90, expansion="none", min_score=0.2,
                    min_grade=None)
TEXTS = {"hotel": "A room in Berlin may cost up to 150 euros a night. Breakfast is not included in the price.",
         "cab": "A cab ride may cost up to 40 euros. Keep the receipt for thirty days.",
         "leave": "Every employee has 28 days of leave a year. Leave is requested at least 14 days ahead."}


def documents() -> list[Document]:
    return [Document(id=name, title=name, text=text) for name, text in TEXTS.items()]


def small_base(**changes) -> KnowledgeBase:
    return KnowledgeBase(documents(), SETTINGS.replace(**changes), HashingEmbedder(512))


def question(id_: str, text: str, answer: str = "", *gold: tuple[str, str], kind: str | None = None,
             language: str = "en", filters: dict | None = None) -> Question:
    """``gold``: (document, quote), each a group of its own; none is a question without an answer."""
    groups = [[{"document": document, "version": "1", "quote": quote}] for document, quote in gold]
    return Question(id=id_, split="dev", kind=kind or ("direct" if gold else "unanswerable_far"), language=language,
                    question=text, answerable=bool(gold), answer=answer, gold=groups, filters=filters or {})


def small_questions() -> list[Question]:
    return [
        question("berlin", "What may a room in Berlin cost a night?", "EUR 150", ("hotel", "up to 150 euros a night")),
        question("cab", "What may a cab ride cost?", "40 euros", ("cab", "up to 40 euros")),
        question("leave", "How many days of leave has every employee a year?", "28 days", ("leave", "28 days of leave"),
                 kind="paraphrase"),
        question("moon", "Whoever walked upon lunar soil first?"),
        question("cheese", "Which wine goes with goat cheese?", kind="unanswerable_near")]
