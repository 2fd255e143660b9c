"""Does each sentence's citation exist, does the cited source support it, and which other would (chapter 07)?

The measures are those of ALCE (Gao et al. 2023, "Enabling Large Language Models to Generate Text with Citations",
section 3), with any judge of support in the place of its entailment model:

- citation recall: of the sentences that claim something, the share that is supported by the sources it cites, read
  together;
- citation precision: of the citations of these sentences, the share that is relevant: the source supports the
  sentence alone, or without it the others no longer do. A number that no source has is not relevant;
- supported share (not in ALCE): of the sentences that claim something, the share that some source of the context
  supports, cited or not.

None of them is 0 where it is undefined (no claims, no citations): it is None.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ragkit.citations.marks import CitationMark, parse_citations
from ragkit.citations.sentences import AnswerSentence, answer_sentences
from ragkit.context import Context, Source

if TYPE_CHECKING:
    from ragkit.citations.support import Support, SupportJudge

SUPPORTED, UNSUPPORTED, CONTRADICTED, NO_CLAIM = "supported", "unsupported", "contradicted", "no_claim"
SIGNS = {SUPPORTED: "✓", UNSUPPORTED: "✗", CONTRADICTED: "≠", NO_CLAIM: "–"}  # no verdict is told by colour alone


@dataclass(frozen=True)
class SourceVerdict:
    """What one source says to one sentence.

    Attributes:
        relevant: whether the citation counts in the precision.
        start, end: in the source's document, the passage that was compared; the whole source when that passage
            is in its prefix.
    """

    number: int
    support: "Support"
    relevant: bool
    start: int
    end: int


@dataclass(frozen=True)
class SentenceVerdict:
    """One sentence of an answer: ``answer[start:end] == text``, marks included.

    Attributes:
        claim: what was checked, without marks; "" for no claim.
        label: "supported", "unsupported" or "contradicted" by the sources it cites, read together; "unsupported"
            when none of them exists; by the whole context when it has no mark at all; or "no_claim".
        in_context: the same by the whole context, whatever is cited.
        score: the support score behind the label, in [0, 1]; None where no source was read for it.
        cited: numbers of the sources it cites that exist, in order, once each.
        missing: the numbers it cites that no source has.
        support: one verdict for each source in ``cited``.
        better: the other sources that support it alone, best first.
        reasons: the verdict in words; for no claim what it is instead ("refusal", "question" ...).
        insert_at: where in the answer a further mark is written.
    """

    text: str
    start: int
    end: int
    claim: str
    label: str
    in_context: str
    score: float | None
    cited: tuple[int, ...]
    missing: tuple[int, ...]
    support: tuple[SourceVerdict, ...]
    better: tuple[int, ...]
    reasons: tuple[str, ...]
    insert_at: int

    @property
    def is_claim(self) -> bool:
        return self.label != NO_CLAIM


@dataclass(frozen=True)
class Verification:
    """An answer's sentences with their verdicts, and the measures over them. Shows as a table in Jupyter.

    Attributes:
        marks: all citation marks of the answer, also those that belong to no sentence.
        missing: the numbers cited anywhere that no source has, in ascending order.
        judge: the name of the judge.
    """

    answer: str
    sentences: tuple[SentenceVerdict, ...]
    marks: tuple[CitationMark, ...]
    missing: tuple[int, ...]
    judge: str

    @property
    def claims(self) -> tuple[SentenceVerdict, ...]:
        """The sentences that claim something."""
        return tuple(sentence for sentence in self.sentences if sentence.is_claim)

    @property
    def uncited(self) -> tuple[SentenceVerdict, ...]:
        """The claims that cite no source that exists."""
        return tuple(sentence for sentence in self.claims if not sentence.cited)

    @property
    def citation_recall(self) -> float | None:
        return _share(sentence.label == SUPPORTED and bool(sentence.cited) for sentence in self.claims)

    @property
    def citation_precision(self) -> float | None:
        return _share(relevant for sentence in self.claims
                      for relevant in [*(one.relevant for one in sentence.support), *(False for _ in sentence.missing)])

    @property
    def supported_share(self) -> float | None:
        return _share(sentence.in_context == SUPPORTED for sentence in self.claims)

    def measures(self) -> dict[str, float | None]:
        """The three shares by name."""
        return {name: getattr(self, name) for name in ("citation_precision", "citation_recall", "supported_share")}

    def to_dict(self) -> dict:
        """Plain data, ready for ``json.dumps``."""
        return {"answer": self.answer, "judge": self.judge, **self.measures(), "missing": list(self.missing),
                "sentences": [asdict(sentence) for sentence in self.sentences]}

    def __repr__(self) -> str:
        # Short and without raw scores: everything is in ``sentences``, ``str`` shows the verdicts.
        return f"Verification({len(self.sentences)} sentences, {self._summary()})"

    def __str__(self) -> str:
        lines = [f"{verdict_words(sentence):<14} {' '.join(sentence.text.split())}"
                 + (f"\n{'':15}({'; '.join(sentence.reasons)})" if sentence.reasons else "")
                 for sentence in self.sentences]
        return "\n".join([*lines, self._summary()])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(sentence.text)}</td>"
            f"<td style='text-align:left'>{_numbers((*sentence.cited, *sentence.missing))}</td>"
            f"<td style='text-align:left;white-space:nowrap'>{verdict_words(sentence)}</td>"
            f"<td style='text-align:left'>{html.escape('; '.join(sentence.reasons))}</td></tr>"
            for sentence in self.sentences)
        heads = "".join(f"<th style='text-align:left'>{head}</th>" for head in ("sentence", "cites", "verdict", "why"))
        return (f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
                f"<p>{html.escape(self._summary())}</p>")

    def _summary(self) -> str:
        shown = ((name.replace("_", " "), value) for name, value in self.measures().items())
        return ", ".join(f"{name} {'undefined' if value is None else f'{value:.2f}'}" for name, value in shown)


def verify_citations(answer: str, context: Context | Sequence[str], *,
                     judge: "SupportJudge | None" = None) -> Verification:
    """Check every sentence of ``answer`` against the numbered sources it cites (chapter 07).

    What the judge reads of a source is its prefix (heading path, header rows) and its text. Refusals, questions,
    greetings, headings, code and lists of sources claim nothing and are not counted.

    Args:
        context: the sources that the answer was made from; plain texts are sources 1, 2 and so on.
        judge: says how far a source supports a sentence; None is ``SignalJudge``, which needs no language model.
    """
    context = as_context(context)
    if judge is None:
        from ragkit.citations.support import SignalJudge

        judge = SignalJudge()
    parts = answer_sentences(answer)
    claims = [part.claim for part in parts if not part.no_claim]
    by_source = {source.number: list(judge.judge(claims, source.shown_text)) for source in context} if claims else {}
    for number, given in by_source.items():
        if len(given) != len(claims):
            raise ValueError(f"the judge {judge.name} gave {len(given)} verdicts on {len(claims)} claims, "
                             f"for [{number}]; it must give one for each")
    verdicts = []
    position = 0
    for part in parts:
        if part.no_claim:
            verdicts.append(_nothing_claimed(part, context))
        else:
            verdicts.append(_Check(part, {number: given[position] for number, given in by_source.items()},
                                   context, judge).verdict())
            position += 1
    marks = parse_citations(answer)
    missing = sorted({mark.number for mark in marks if mark.number not in context})
    return Verification(answer, tuple(verdicts), tuple(marks), tuple(missing), judge.name)


def verdict_words(sentence: SentenceVerdict) -> str:
    """A sentence's verdict as a sign and words: "✓ supported", "✓ supported, not cited"."""
    bare = sentence.label == SUPPORTED and not sentence.cited
    return f"{SIGNS[sentence.label]} {sentence.label}{', not cited' if bare else ''}"


def as_context(context: Context | Sequence[str]) -> Context:
    """A context as it is; plain texts as one."""
    if isinstance(context, Context):
        return context
    if isinstance(context, str):
        raise TypeError(f"expected a Context or a list of texts, got one string ({context[:40]!r}); put it in a list")
    texts = list(context) if isinstance(context, Iterable) else [context]
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"expected a Context or a list of texts, got {type(text).__name__} ({str(text)[:40]!r})")
    return Context.from_texts(*texts)


class _Check:
    """One claim against the sources."""

    def __init__(self, part: AnswerSentence, alone: "dict[int, Support]", context: Context, judge: "SupportJudge"):
        self._part, self._alone, self._context, self._judge = part, alone, context, judge
        self._cited, self._missing = _cited(part, context)
        self._supporting = sorted((number for number, support in alone.items() if support.label == SUPPORTED),
                                  key=lambda number: (-alone[number].score, number))

    def verdict(self) -> SentenceVerdict:
        part = self._part
        joint = self._joint(self._cited) if len(self._cited) > 1 else None
        together = joint is not None and joint.label == SUPPORTED
        in_context = SUPPORTED if together else self._label(list(self._alone))
        marked = self._cited or self._missing
        label = SUPPORTED if together else self._label(self._cited) if marked else in_context
        given = [self._alone[number] for number in (self._cited if marked else self._alone)]
        score = max([support.score for support in [*given, *([joint] if joint else [])]], default=None)
        support = tuple(self._source_verdict(number, together) for number in self._cited)
        better = tuple(number for number in self._supporting if number not in self._cited)
        return SentenceVerdict(part.text, part.start, part.end, part.claim, label, in_context, score, self._cited,
                               self._missing, support, better, tuple(self._reasons(label, together, support, better)),
                               part.insert_at)

    def _label(self, numbers: Sequence[int]) -> str:
        labels = {self._alone[number].label for number in numbers}
        return next((label for label in (SUPPORTED, CONTRADICTED) if label in labels), UNSUPPORTED)

    def _joint(self, numbers: Sequence[int]) -> "Support | None":
        """The verdict on several sources read as one; None when one of them is enough by itself."""
        if any(number in self._supporting for number in numbers):
            return None
        text = "\n\n".join(self._context[number].shown_text for number in numbers)
        return self._judge.judge([self._part.claim], text)[0]

    def _source_verdict(self, number: int, together: bool) -> SourceVerdict:
        support = self._alone[number]
        relevant = number in self._supporting or together and self._is_needed(number)
        return SourceVerdict(number, support, relevant, *_document_span(self._context[number], support.window))

    def _is_needed(self, number: int) -> bool:
        rest = [other for other in self._cited if other != number]
        if len(rest) == 1:
            return True  # it does not support the sentence alone, else the two would not have been joined
        joint = self._joint(rest)
        return joint is None or joint.label != SUPPORTED

    def _reasons(self, label: str, together: bool, support: Sequence[SourceVerdict], better: Sequence[int]):
        for number in self._missing:
            have = f"the context has {_range(len(self._context))}"
            yield f"[{number}] does not exist; {have}"
        if self._missing and not self._cited:
            if better:
                yield f"{_numbers(better)} would support it"
            return
        if not self._cited:
            if better:
                yield f"no citation; {_numbers(better)} would support it"
            elif not self._alone:
                yield "no citation, and there are no sources"
            else:
                nearest = max(self._alone, key=lambda number: (self._alone[number].score, -number))
                yield "no citation, and no source supports it"
                yield from (f"[{nearest}]: {reason}" for reason in self._alone[nearest].reasons)
            return
        if together:
            yield f"{_numbers(self._cited)} support it together, none alone"
        for one in support:
            if label != SUPPORTED:
                yield from [f"[{one.number}]: {reason}" for reason in one.support.reasons] or [
                    f"[{one.number}] does not support it"]
            elif not one.relevant:
                yield f"[{one.number}] is not needed for it"
        if better and label != SUPPORTED:
            yield f"{_numbers(better)} would support it"


def _nothing_claimed(part: AnswerSentence, context: Context) -> SentenceVerdict:
    cited, missing = _cited(part, context)
    reasons = (part.no_claim, *(f"[{number}] does not exist; the context has {_range(len(context))}"
                                for number in missing))
    return SentenceVerdict(part.text, part.start, part.end, "", NO_CLAIM, NO_CLAIM, None, cited, missing, (), (),
                           reasons, part.insert_at)


def _cited(part: AnswerSentence, context: Context) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers that the sentence cites: those that exist, and those that do not; each once, in order."""
    numbers = dict.fromkeys(mark.number for mark in part.marks)
    return (tuple(number for number in numbers if number in context),
            tuple(number for number in numbers if number not in context))


def _document_span(source: Source, window: tuple[int, int]) -> tuple[int, int]:
    """The window of the text that the judge read as a span of the source's document."""
    offset = len(source.shown_text) - len(source.text)
    start, end = (min(max(edge - offset, 0), len(source.text)) for edge in window)
    return (source.start + start, source.start + end) if start < end else (source.start, source.end)


def _share(values) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def _range(count: int) -> str:
    return "no sources" if not count else "only [1]" if count == 1 else f"[1] to [{count}]"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"[{number}]" for number in numbers)
