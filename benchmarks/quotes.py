"""How often the extractive generator quotes the sentence that holds the answer, and how long it takes.

    python -m benchmarks.quotes

Asked are the handbook's questions as ``retrieve`` and ``assemble_context`` serve them, each half apart: the settings
of ``ragkit.generation.extractive`` were chosen on dev. Counted is over the questions whose context holds their gold
quotes in whole; a question counts when for each of its gold groups one alternative is quoted in whole. Chinese is
asked with the multilingual embedder.
"""

import statistics
from time import perf_counter

import ragkit as rk
from ragkit.context import Context, assemble_context
from ragkit.documents import Document, DocumentKey
from ragkit.embedding import make_embedder
from ragkit.evaluation import Question, Span, gold_spans
from ragkit.generation import ExtractiveGenerator
from ragkit.generation.quotes import Quote, find_quotes

Documents = dict[DocumentKey, Document]


def measure() -> None:
    """Print all of it."""
    for language, embedder in (("en", "minilm"), ("zh", "multilingual")):
        kb = rk.KnowledgeBase.from_folder(rk.data_path("handbook"), rk.Settings(embedder=embedder))
        generator = ExtractiveGenerator(kb.embedder)
        for split in ("dev", "test"):
            questions = rk.load_questions(split=split, language=language)
            print(f"{language} {split}: {quality(kb, generator, questions)}")
    speed()


def quality(kb: rk.KnowledgeBase, generator: ExtractiveGenerator, questions: list[Question]) -> str:
    """Hits, sentences a question, and how many it refuses of either kind."""
    documents = kb.corpus.documents
    hits, lengths, refused = [], [], []
    for question in questions:
        result = kb.retrieve(question.question, question.filters, reader=question.reader)
        context = assemble_context(result.evidence, documents=documents)
        gold = gold_spans(question, documents)
        if result.refused or not all(any(_in_context(span, context) for span in group) for group in gold):
            continue
        quotes = _quotes(context)
        chosen = generator.choose(question.question, quotes)
        if question.answerable:
            told = _places(chosen, quotes, context)
            hits.append(all(any(_covered(span, told, documents) for span in group) for group in gold))
            lengths.append(len(chosen))
        else:
            refused.append(not chosen)
    return (f"gold quoted {sum(hits)}/{len(hits)} = {statistics.fmean(hits):.1%}, {statistics.fmean(lengths):.2f} "
            f"sentences, {lengths.count(0)} refused; of those without an answer {sum(refused)}/{len(refused)} refused")


def speed() -> None:
    """Milliseconds an answer from four sources of 600 characters, no vector cached; the median over dev questions."""
    kb = rk.KnowledgeBase.from_folder(rk.data_path("handbook"))
    generator = ExtractiveGenerator(make_embedder("minilm"))
    times, sentences = [], []
    for question in rk.load_questions(split="dev", language="en", answerable=True)[:40]:
        result = kb.retrieve(question.question, question.filters, reader=question.reader, min_score=None)
        context = assemble_context(result.evidence, documents=kb.corpus.documents)
        start = perf_counter()
        generator.generate(question.question, context).text()
        times.append(1000 * (perf_counter() - start))
        sentences.append(len(_quotes(context)))
    print(f"one answer: {statistics.median(times):.0f} ms from {statistics.median(sentences):.0f} sentences "
          f"(aim: below 150 ms)")


def _quotes(context: Context) -> list[Quote]:
    return [quote for source in context for quote in find_quotes(source)]


def _in_context(span: Span, context: Context) -> bool:
    return any(source.key == (span.document_id, span.version) and source.start <= span.start and span.end <= source.end
               for source in context)


def _places(chosen: list[tuple[Quote, tuple[int, ...]]], quotes: list[Quote], context: Context) -> list[Span]:
    """Where in the documents stands what was quoted; in each source that is cited for it."""
    places = []
    for quote, numbers in chosen:
        for same in quotes:
            if same == quote or (same.number in numbers and same.text == quote.text):
                source = context[same.number]
                places.append(Span(*source.key, source.start + same.start, source.start + same.end))
    return places


def _covered(gold: Span, told: list[Span], documents: Documents) -> bool:
    """Whether the quotes together hold the gold quote, list markers and the marks at its end aside."""
    text = documents[DocumentKey(gold.document_id, gold.version)].text
    position = gold.start
    for place in sorted(told, key=lambda place: place.start):
        if (place.document_id, place.version) == (gold.document_id, gold.version) and place.end > position:
            if text[position:min(place.start, gold.end)].strip(" \n-*.0123456789"):
                return False
            position = place.end
    return not text[position:gold.end].strip(" \n.;|")


if __name__ == "__main__":
    measure()
