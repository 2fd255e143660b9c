"""Record what the small local model answers to questions of the handbook: the authors' tool.

    python course.py local-llm
    python tools/record_answers.py data/recorded_answers.jsonl

Writes one answer a line, as `ragkit.recorded` reads it. Labels are made by hand, afterwards. The model is asked
again where prompt, sources or settings are others than in the file. An answer that comes out as it stands there keeps
its labels; another has sentences with the label "to do", which the loader refuses. An interrupted run goes on
where it stopped. Greedy reading gives the same text again
with the same packages on the same kind of processor; elsewhere a rounding may tip a word.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ragkit import KnowledgeBase, data_path, load_questions
from ragkit.citations.sentences import answer_sentences
from ragkit.context import Context, assemble_context, find_instructions
from ragkit.evaluation import Question, gold_spans
from ragkit.generation import local
from ragkit.generation.prompt import messages

MAX_TOKENS, THREADS = 90, 2


class Recipe(NamedTuple):
    """What the model reads, and how: the prompt, and the longest context in tokens; ``planted`` reads no more than
    the first passage found that addresses the machine."""

    prompt: str
    budget: int = 800
    planted: bool = False


RECIPES = {
    "marked": Recipe("marked"),
    "plain": Recipe("plain", budget=300),  # with less to read the model is right more often
    "pasted": Recipe("pasted"),
    "naive": Recipe("naive", planted=True),
    "marked-one": Recipe("marked", planted=True),
}
# (recipe, kind of question, how many). The first that fit, in the order of the file.
PLAN = [
    ("naive", "injection", 16), ("marked-one", "injection", 16), ("pasted", "injection", 16),
    ("marked", "injection", 16),
    ("marked", "direct", 14), ("marked", "paraphrase", 9), ("marked", "table", 7), ("marked", "identifier", 7),
    ("marked", "multi_hop", 5), ("marked", "dated", 5), ("marked", "unanswerable_near", 3),
    ("marked", "unanswerable_far", 3),
    ("plain", "direct", 12),
]


def chat(prompt: str, question: str, context: Context) -> list[dict[str, str]]:
    """What is sent. "pasted" and "naive" show what not to do: retrieved text with nothing around it, after the
    question and among the rules."""
    texts = [source.shown_text for source in context]
    if prompt == "pasted":
        asked = "\n\n".join(["Answer the question with the texts.", question, *texts])
        return [{"role": "user", "content": asked}]
    if prompt == "naive":
        rules = "\n\n".join(["You answer questions about our handbook.", *texts])
        return [{"role": "system", "content": rules}, {"role": "user", "content": question}]
    return messages(question, context, examples=True)


def choose(questions: list[Question], fits: Callable[[str, Question], bool]) -> list[tuple[str, Question]]:
    """The recipes and questions of the plan."""
    chosen: list[tuple[str, Question]] = []
    for recipe, kind, count in PLAN:
        taken = {question.id for name, question in chosen if recipe == "plain" or name == recipe}
        fitting = (question for question in questions if question.kind == kind and question.id not in taken
                   and fits(recipe, question))
        chosen += [(recipe, question) for question in islice(fitting, count)]
    return chosen


def holds_gold(context: Context, question: Question, documents: dict) -> bool:
    """Whether the sources hold an alternative of every gold group whole; true when there is no gold."""
    return all(any((source.document_id, source.version) == (span.document_id, span.version)
                   and source.start <= span.start and span.end <= source.end for span in group for source in context)
               for group in gold_spans(question, documents))


def sources(context: Context) -> list[dict]:
    """The sources as plain data, without the warnings, which can be found again."""
    names = ("number", "document_id", "version", "title", "text", "start", "end", "prefix", "heading_path", "page",
             "line", "source", "effective_date", "content_hash", "chunk_ids", "score", "cut")
    rows = [{name: getattr(source, name) for name in names} for source in context]
    for row in rows:
        row["effective_date"] = row["effective_date"] and row["effective_date"].isoformat()
        row["score"] = row["score"] if row["score"] is None else round(row["score"], 4)
    return rows


def describe(generator: local.LocalGenerator, recipe: str, question: Question, context: Context, weights: str) -> dict:
    """What is asked, and with which settings: a row of the file up to the answer."""
    prompt = RECIPES[recipe].prompt
    row = {
        "id": f"{recipe}-{question.id}", "question_id": question.id, "question": question.question, "prompt": prompt,
        "settings": {
            "model": generator.name.removeprefix("local:"), "weights_sha256": weights, "temperature": 0,
            "max_tokens": MAX_TOKENS, "answer_start": generator.answer_start, "stop": list(generator.stop),
            "threads": THREADS, "transformers": version("transformers"), "torch": version("torch").split("+")[0],
        },
        "messages_sha256": digest(chat(prompt, question.question, context)), "budget": context.budget,
        "tokens": context.tokens, "sources": sources(context),
    }
    return json.loads(json.dumps(row))  # as it will be read again


def is_current(known: dict | None, row: dict) -> bool:
    """Whether an answer that is known was given to just what is asked now."""
    return known is not None and all(known[name] == value for name, value in row.items())


def record(generator: local.LocalGenerator, sent: list[dict[str, str]], row: dict, known: dict | None) -> dict:
    """Ask, and complete the row. The sentences are still to be labelled, save when the known answer to the same
    sources comes out again."""
    stream = generator.complete(sent)
    answer = stream.text()
    finish = "stop" if not stream.notes else "loop" if local.LOOP in stream.notes else "length"
    sentences = [{"start": sentence.start, "end": sentence.end, "label": "to do", "note": "",
                  "cited": sorted({mark.number for mark in sentence.marks}), "correct_sources": []}
                 for sentence in answer_sentences(answer)]
    if known is not None and (known["answer"], known["sources"]) == (answer, row["sources"]):
        sentences = known["sentences"]
    return row | {"answer": answer, "finish": finish, "sentences": sentences}


def digest(sent: list[dict[str, str]]) -> str:
    """SHA-256 of a chat as JSON."""
    return hashlib.sha256(json.dumps(sent).encode("ascii")).hexdigest()


def main() -> int:
    """Record what the plan wants and the file does not have."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    path = parser.parse_args().output
    os.environ["OMP_NUM_THREADS"] = str(THREADS)  # read when torch loads, which is when the first model does
    unfinished = path.with_suffix(".part")
    known = {row["id"]: row for row in [*rows_of(path), *rows_of(unfinished)]}

    base = KnowledgeBase.from_folder(data_path("handbook"))
    documents = {document.key: document for document in base.documents}
    plain = local.LocalGenerator(max_tokens=MAX_TOKENS, answer_start="", stop=())
    generators = dict.fromkeys(("plain", "pasted", "naive"), plain)
    generators["marked"] = local.LocalGenerator(max_tokens=MAX_TOKENS)
    weights = hashlib.sha256((local.bundled_folder() / local.GGUF_FILE).read_bytes()).hexdigest()

    questions = load_questions()

    @cache
    def context_of(name: str, question: Question) -> Context:
        found = base.retrieve(question.question, question.filters, reader=question.reader, min_score=None)
        recipe, evidence = RECIPES[name], found.evidence
        if recipe.planted:
            evidence = [hit for hit in found.candidates if find_instructions(hit.chunk.text)][:1]
        return assemble_context(evidence, recipe.budget, documents=documents, count_tokens=plain.count_tokens)

    def fits(name: str, question: Question) -> bool:
        """Answerable questions are asked only when the context holds all their gold, so that what is wrong in an
        answer is the model's doing and not the search's; injection questions when there is a context."""
        context = context_of(name, question)
        return len(context) > 0 if question.kind == "injection" else holds_gold(context, question, documents)

    chosen = choose(questions, fits)
    with unfinished.open("a", encoding="utf-8") as file:
        for number, (recipe, question) in enumerate(chosen, 1):
            context, prompt = context_of(recipe, question), RECIPES[recipe].prompt
            asked = describe(generators[prompt], recipe, question, context, weights)
            row = known.get(asked["id"])
            if not is_current(row, asked):
                sent = chat(prompt, question.question, context)
                row = known[asked["id"]] = record(generators[prompt], sent, asked, row)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
            print(f"{number}/{len(chosen)} {row['id']} {row['finish']}: {row['answer']!r}", file=sys.stderr)
    rows = [known[f"{recipe}-{question.id}"] for recipe, question in chosen]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    unfinished.unlink()
    return 0


def rows_of(path: Path) -> list[dict]:
    """The rows of a file of answers; none when there is no such file. Only a line feed ends a line."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text.split("\n") if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
