"""Questions that give their answer away: those that repeat the words of the sentence they ask for (chapter 08).

Whoever writes a question with the passage before their eyes borrows its words. Then counting words finds it, and
the figures say more of the question set than of the search (Karpukhin et al. 2020, "Dense Passage Retrieval for
Open-Domain Question Answering", section 5.1, on SQuAD and BM25). A question that must name its subject, such as
"What is form FIN-22 for?", shares its words without being copied: what is found is to be looked at, not deleted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragkit.context.units import cut_units
from ragkit.documents import Document, DocumentKey
from ragkit.evaluation.questions import Gold, Question, Span, gold_spans
from ragkit.filters import select_documents
from ragkit.wording import content_stems

MOST_SHARED = 0.75  # a question whose words are all but a quarter those of the passage was copied from it


@dataclass(frozen=True)
class Overlap:
    """How far a question repeats the words of its gold sentences.

    Of a group's alternatives the one that gives most away counts; of the groups, which are all needed, the one
    that gives least away.

    Attributes:
        share: of the question's different content words, those that stand in the gold sentence; in [0, 1].
        rank: of the gold sentence among all sentences that the question is asked of, when they are ranked by how
            many of the question's words they hold and nothing else; from 1. Of equals the gold comes last, so
            rank 1 means that no other sentence holds as many.
        shared: these words, as stems, in alphabetical order; of all groups.
        sentences: the gold sentences or table rows, one for each group.
    """

    question: Question
    share: float
    rank: int
    shared: tuple[str, ...]
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return (f"{self.question.id}: {self.share:.0%} of its words, rank {self.rank} by words alone "
                f"({', '.join(self.shared) or 'none'}): {self.question.question!r}")


def find_giveaways(questions: Iterable[Question], documents: Iterable[Document] | Mapping[DocumentKey, Document], *,
                   most_shared: float = MOST_SHARED) -> list[Overlap]:
    """The questions to write anew: plain counting of words finds their gold first, with a large share of their words.

    Args:
        most_shared: in [0, 1]; a question with a larger share and rank 1 gives itself away.

    Returns:
        the worst first; by share, then by id.
    """
    if isinstance(most_shared, bool) or not 0 <= most_shared <= 1:
        raise ValueError(f"most_shared ({most_shared!r}) must lie in [0, 1]")
    found = [overlap for overlap in word_overlap(questions, documents)
             if overlap.rank == 1 and overlap.share > most_shared]
    return sorted(found, key=lambda overlap: (-overlap.share, overlap.question.id))


def word_overlap(questions: Iterable[Question],
                 documents: Iterable[Document] | Mapping[DocumentKey, Document]) -> list[Overlap]:
    """The overlap of every question that has gold, in the order of the questions.

    The others are left out, and so is one without content words ("Who are they?"). A question is asked of the
    documents that its filters and its reader leave.

    Raises:
        ValueError: a gold quote that is not in its document.
    """
    held = documents if isinstance(documents, Mapping) else {document.key: document for document in documents}
    sentences = _Sentences(held)
    overlaps = []
    for question in questions:
        stems = frozenset(content_stems(question.question))
        if question.gold and stems:
            overlaps.append(sentences.overlap(question, gold_spans(question, held), stems))
    return overlaps


class _Sentences:
    """All sentences, table rows and lines of code of the documents, with the words in each."""

    def __init__(self, documents: Mapping[DocumentKey, Document]):
        self._documents = documents
        self._spans: list[Span] = []
        self._with: dict[str, list[int]] = defaultdict(list)  # stem to the sentences that hold it
        self._of: dict[DocumentKey, range] = {}
        self._asked_of: dict[tuple, frozenset[int]] = {}
        for key, document in documents.items():
            first = len(self._spans)
            for unit in cut_units(document.text):
                for stem in set(content_stems(document.text[unit.start:unit.end])):
                    self._with[stem].append(len(self._spans))
                self._spans.append(Span(*key, unit.start, unit.end))
            self._of[key] = range(first, len(self._spans))

    def overlap(self, question: Question, gold: Gold, stems: frozenset[str]) -> Overlap:
        places = [[self._places(span) for span in group] for group in gold]
        held = {place: stems.intersection(content_stems(self._text([place])))
                for group in places for alternative in group for place in alternative}
        asked_of = self._searched(question)
        counts = Counter(place for stem in stems for place in self._with.get(stem, ())
                         if place in asked_of and place not in held)
        groups = []
        for alternatives in places:
            shared, best = max(((frozenset().union(*(held[place] for place in alternative)), alternative)
                                for alternative in alternatives), key=lambda pair: len(pair[0]))
            rank = 1 + sum(count >= len(shared) for count in counts.values()) if shared else 1 + len(asked_of)
            groups.append((len(shared) / len(stems), rank, shared, self._text(best)))
        return Overlap(question, min(share for share, *_ in groups), max(rank for _, rank, *_ in groups),
                       tuple(sorted(frozenset().union(*(shared for *_, shared, _ in groups)))),
                       tuple(text for *_, text in groups))

    def _places(self, span: Span) -> tuple[int, ...]:
        """The sentences that the span lies in, or reaches into; a long quote has several."""
        numbers = self._of[DocumentKey(span.document_id, span.version)]
        return tuple(number for number in numbers
                     if self._spans[number].start < span.end and span.start < self._spans[number].end)

    def _text(self, places: Sequence[int]) -> str:
        spans = [self._spans[place] for place in places]
        return " ".join(self._documents[span.document_id, span.version].text[span.start:span.end] for span in spans)

    def _searched(self, question: Question) -> frozenset[int]:
        asked_with = (question.filters, question.reader)
        if asked_with not in self._asked_of:
            selection = select_documents(self._documents.values(), question.filters, question.reader)
            self._asked_of[asked_with] = frozenset(place for key in selection.allowed for place in self._of[key])
        return self._asked_of[asked_with]
