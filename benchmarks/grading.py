"""How well the evidence grader tells what can be answered: on the handbook, and on real near misses.

    python3 benchmarks/grading.py [EMBEDDER ...]      minilm (default), multilingual

Nothing is fitted here (``fit_grading.py`` does that): the handbook's ``dev`` half and one half of the SQuAD 2.0
articles gave the weights and the thresholds, ``test`` and the other articles are reported. The handbook's Chinese
questions are reported apart. SQuAD needs ``RAGKIT_DATA=FOLDER``, with ``squad2_dev_half/cases.jsonl`` in it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import ragkit as rk  # noqa: E402
from ragkit.embedding import Embedder, make_embedder  # noqa: E402
from ragkit.evaluation import Question, gold_spans, load_questions, recall_at_k  # noqa: E402
from ragkit.hits import Hit  # noqa: E402
from ragkit.refusal import signals  # noqa: E402
from ragkit.refusal.signals import Measure, passages  # noqa: E402
from ragkit.refusal.weights import Weights, weights_for  # noqa: E402

MIN_SCORES = (None, 0.25, 0.3, 0.35, 0.4, 0.45)
DRAWS = 1000


class Memory:
    """An embedder that encodes each text once in its life."""

    def __init__(self, embedder: Embedder):
        self.embedder, self.name, self.known = embedder, embedder.name, {}

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self.embedder.encode_passages(new), strict=True))
        return np.array([self.known[text] for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.embedder.encode_queries(texts)


@dataclass(frozen=True)
class Case:
    """One question with what was measured.

    Attributes:
        measures: by ``min_score``; empty where it leaves no evidence.
        found: whether the evidence (with no threshold) holds all gold; None when there is none.
        group: the article, or the kind of question.
    """

    id: str
    question: str
    answerable: bool
    group: str
    split: str
    measures: dict[float | None, list[Measure]] = field(repr=False)
    found: bool | None = None

    def log_odds(self, weights: Weights, min_score: float | None = None) -> float:
        """The grade before the logistic function; minus infinity where nothing is left to grade."""
        measures = self.measures[min_score]
        if not measures:
            return -np.inf
        return weights.bias + sum(weights.of(name)[0] * (value - weights.of(name)[1]) for name, value, _ in measures)


def handbook(name: str, language: str) -> list[Case]:
    """The handbook's questions, each with its own filters and reader; recall once, decisions many."""
    memory = Memory(make_embedder(name))
    kb = rk.KnowledgeBase.from_folder(rk.data_path("handbook"), rk.Settings(embedder=name))
    questions = load_questions(language=language)
    vectors = kb.embedder.encode_queries([question.question for question in questions])
    return [_case(question, kb, vector, memory) for question, vector in zip(questions, vectors, strict=True)]


def _case(question: Question, kb: rk.KnowledgeBase, vector: np.ndarray, memory: Memory) -> Case:
    result = kb.retrieve(question.question, question.filters, reader=question.reader, min_score=None,
                         query_vector=vector)
    done: dict[int, list[Measure]] = {}
    measures = {}
    for min_score in MIN_SCORES:
        kept: list[Hit] = [hit for hit in result.evidence if min_score is None or hit.score >= min_score]
        if len(kept) not in done:  # evidence is in order, so its length says which it is
            done[len(kept)] = signals.measure(question.question, kept, memory)[0]
        measures[min_score] = done[len(kept)]
    found = None
    if question.answerable:
        found = recall_at_k(result.evidence, gold_spans(question, kb.documents), max(1, len(result.evidence))) == 1
    return Case(question.id, question.question, question.answerable, question.kind, question.split, measures, found)


def squad(name: str, folder: Path) -> list[Case]:
    """SQuAD 2.0: a question and its paragraph; the articles are split, so no paragraph is in both halves."""
    text = (folder / "squad2_dev_half" / "cases.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    articles = sorted({row["context_id"].partition("#")[0] for row in rows})
    memory = Memory(make_embedder(name))
    memory.encode_passages([passage.text for row in rows for passage in passages([row["context"]])])
    cases = []
    for row in rows:
        article = row["context_id"].partition("#")[0]
        cases.append(Case(row["id"], row["question"], row["answerable"], article,
                          "dev" if articles.index(article) % 2 == 0 else "test",
                          {None: signals.measure(row["question"], [row["context"]], memory)[0]}))
    return cases


def auroc(answerable: Sequence[bool], scores: Sequence[float]) -> float:
    """How often an answerable question has the higher score; a tie counts half (Hanley & McNeil 1982)."""
    labels, values = np.asarray(answerable, dtype=bool), np.asarray(scores, dtype=float)
    ahead = values[labels][:, None] - values[~labels][None, :]
    return float(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


def bootstrap(statistic: Callable[[list[Case]], float], cases: Sequence[Case], *,
              by_group: bool) -> tuple[float, float]:
    """95% percentile interval; ``by_group`` draws whole articles, for the questions of one are alike."""
    random = np.random.default_rng(7)
    units = [[case for case in cases if case.group == group] for group in sorted({case.group for case in cases})] \
        if by_group else [[case] for case in cases]
    values = [statistic([case for number in random.integers(0, len(units), len(units)) for case in units[number]])
              for _ in range(DRAWS)]
    return tuple(np.percentile(values, [2.5, 97.5]))


def share(cases: Iterable[Case], weights: Weights, min_score: float | None, cut: float = 0.0) -> float:
    """The share of the cases that are answered, in [0, 1]; a ``cut`` of 0 log-odds is a grade of 0.5."""
    return float(np.mean([case.log_odds(weights, min_score) >= cut for case in cases] or [np.nan]))


PARTS = {
    "far, refused": lambda case: case.group == "unanswerable_far",
    "near misses, refused": lambda case: case.group == "unanswerable_near",
    "answerable, answered": lambda case: case.answerable,
    "  of these with the gold in the evidence": lambda case: bool(case.found),
    "  of these without it (refusing is right)": lambda case: case.answerable and not case.found,
}


def report_handbook(cases: list[Case], weights: Weights, title: str) -> None:
    """Shares answered and refused at min_grade 0.5, on dev and on test, with intervals."""
    print(f"\n{title}: min_grade 0.5")
    for min_score in MIN_SCORES:
        print(f"  min_score {min_score}")
        for name, is_in in PARTS.items():
            line = f"    {name:<44}"
            for split in ("dev", "test"):
                part = [case for case in cases if case.split == split and is_in(case)]
                if part:
                    refused = name.endswith("refused")
                    values = [(case.log_odds(weights, min_score) >= 0) != refused for case in part]
                    low, high = _interval(values)
                    line += f"  {split} {np.mean(values):4.0%} [{low:.0%}, {high:.0%}] of {len(part):<3}"
            print(line)


def _interval(values: Sequence[bool]) -> tuple[float, float]:
    draws = np.random.default_rng(7).choice(np.asarray(values, dtype=float), (DRAWS, len(values)))
    return tuple(np.percentile(draws.mean(axis=1), [2.5, 97.5]))


def report_curve(cases: list[Case], weights: Weights, min_score: float | None) -> None:
    """What other thresholds on the grade would give."""
    print(f"\n  min_score {min_score}: other values of min_grade, dev / test: far refused, near misses refused, "
          "answered of all answerable, of those with gold")
    for grade in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        cut = np.log(grade / (1 - grade))
        columns = []
        for split in ("dev", "test"):
            part = [case for case in cases if case.split == split]
            far, near, answerable, gold = [share(filter(is_in, part), weights, min_score, cut)
                                           for is_in in list(PARTS.values())[:4]]
            columns.append(f"{1 - far:4.0%} {1 - near:4.0%} {answerable:4.0%} {gold:4.0%}")
        print(f"    {grade:.1f}   " + "   /   ".join(columns))


def report_auroc(cases: list[Case], weights: Weights, title: str, *, by_group: bool) -> None:
    """AUROC of the grade and of each signal alone, and of the grade with each signal taken out (not fitted anew)."""
    part = [case for case in cases if case.split == "test" and case.measures[None]]
    answerable = [case.answerable for case in part]

    def of(sample: list[Case]) -> float:
        return auroc([case.answerable for case in sample], [case.log_odds(weights) for case in sample])

    low, high = bootstrap(of, part, by_group=by_group)
    print(f"\n{title}: AUROC, reporting half, {len(part)} questions: grade {of(part):.3f} [{low:.3f}, {high:.3f}]")
    whole = of(part)
    for position, (name, _, _) in enumerate(part[0].measures[None]):
        alone = auroc(answerable, [case.measures[None][position].value for case in part])
        without = auroc(answerable, [case.log_odds(weights.without(name)) for case in part])
        print(f"  {name:<14} alone {alone:.3f}   grade without it {without:.3f} ({without - whole:+.3f})")


def main(names: list[str]) -> None:
    """Report for the embedders named."""
    folder = os.environ.get("RAGKIT_DATA")
    for name in names or ["minilm"]:
        weights = weights_for(make_embedder(name).name)
        cases = handbook(name, "en")
        report_handbook(cases, weights, f"{name}, handbook, English")
        report_curve(cases, weights, None)
        report_curve(cases, weights, 0.25)
        near = [case for case in cases if case.group != "unanswerable_far" and case.found is not False]
        report_auroc(near, weights, f"{name}, handbook, near misses against answerable with the gold found",
                     by_group=False)
        if name != "minilm":
            report_handbook(handbook(name, "zh"), weights, f"{name}, handbook, Chinese")
        if folder:
            report_auroc(squad(name, Path(folder)), weights, f"{name}, SQuAD 2.0", by_group=True)
        else:
            print("\nSQuAD 2.0 is left out: set RAGKIT_DATA to the folder that holds squad2_dev_half")


def measure() -> None:
    """Report for both of the course's models, the second for Chinese too."""
    main(["minilm", "multilingual"])


if __name__ == "__main__":
    main(sys.argv[1:])
