"""Answers that a small language model really gave, each sentence labelled by hand (chapter 07).

With them the checks of ``ragkit.citations`` can be taught and tested where no model is installed. How they were
made, what the labels mean and what they cannot show stands in ``data/README.md``.
"""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ragkit.paths import data_path

if TYPE_CHECKING:
    from ragkit.context import Context

LABELS = ("supported", "unsupported", "contradicted", "no_claim")
PROMPTS = ("marked", "plain", "pasted", "naive")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedSettings(_Frozen):
    """What the answer was made with. Reading is greedy, so there is no seed."""

    model: str
    weights_sha256: str
    temperature: Literal[0]
    max_tokens: int = Field(ge=1)
    answer_start: str
    stop: tuple[str, ...]
    threads: int
    transformers: str
    torch: str


class RecordedSource(_Frozen):
    """One source of the prompt, as in ``ragkit.context.Source``."""

    number: int = Field(ge=1)
    document_id: str = Field(min_length=1)
    version: str = Field(min_length=1)
    title: str
    text: str
    start: int = Field(ge=0)
    end: int
    prefix: str = ""
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    line: int | None = None
    source: str = ""
    effective_date: datetime.date | None = None
    content_hash: str
    chunk_ids: tuple[str, ...] = ()
    score: float | None = None
    cut: bool = False


class LabelledSentence(_Frozen):
    """A sentence of the answer, ``answer[start:end]``, with the citation marks that belong to it.

    Attributes:
        label: "supported" (by at least one source of the context), "contradicted", "unsupported" or "no_claim".
        note: why, for everything that is neither supported nor without a claim.
        cited: the numbers in its marks, also those of sources that do not exist.
        correct_sources: the numbers of the sources that support the whole sentence; only when it is supported.
    """

    start: int = Field(ge=0)
    end: int
    label: Literal[LABELS]
    note: str
    cited: tuple[int, ...]
    correct_sources: tuple[int, ...]

    @model_validator(mode="after")
    def _consistent(self) -> "LabelledSentence":
        if (self.label == "supported") != bool(self.correct_sources):
            raise ValueError("a supported sentence names the sources that support it, and no other does")
        if self.label in ("unsupported", "contradicted") and not self.note.strip():
            raise ValueError(f"a sentence that is {self.label} needs a note that says why")
        return self


class RecordedAnswer(_Frozen):
    """One answer with what it was made from (chapter 07).

    Attributes:
        question_id: of the question in ``data/questions.jsonl``; ``question`` is its text.
        prompt: "marked" (rules and worked examples, sources between delimiters, the answer's start given), "plain"
            (the same with no start given, so that most answers cite nothing), "pasted" (the retrieved texts after the
            question with nothing around them) or "naive" (the retrieved text in the rules, with nothing around it).
        messages_sha256: of the chat that was sent, as JSON.
        answer: exactly as it was produced.
        finish: "stop" (the model ended it, or it came to a text of ``settings.stop``), "length" or "loop" (it
            repeated itself and was stopped).
        budget, tokens: of the context, in tokens of the model.
        sentences: they cover all of the answer but white space.
    """

    id: str = Field(min_length=1)
    question_id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    prompt: Literal[PROMPTS]
    settings: RecordedSettings
    messages_sha256: str
    budget: int = Field(ge=1)
    tokens: int
    sources: tuple[RecordedSource, ...]
    answer: str = Field(min_length=1)
    finish: Literal["stop", "length", "loop"]
    sentences: tuple[LabelledSentence, ...]

    @model_validator(mode="after")
    def _spans_fit(self) -> "RecordedAnswer":
        numbers = [source.number for source in self.sources]
        if numbers != list(range(1, len(numbers) + 1)):
            raise ValueError(f"the sources are numbered {numbers}, not from 1 on")
        position = 0
        for sentence in self.sentences:
            if not position <= sentence.start < sentence.end <= len(self.answer):
                raise ValueError(f"the sentence ({sentence.start}, {sentence.end}) overlaps another or lies outside "
                                 f"the answer, which has {len(self.answer)} characters")
            if self.answer[position:sentence.start].strip():
                raise ValueError(f"{self.answer[position:sentence.start]!r} of the answer is in no sentence")
            unknown = set(sentence.correct_sources) - set(numbers)
            if unknown:
                raise ValueError(f"correct_sources names {min(unknown)}, and the sources are {numbers}")
            position = sentence.end
        if self.answer[position:].strip():
            raise ValueError(f"{self.answer[position:]!r} of the answer is in no sentence")
        return self

    @property
    def context(self) -> "Context":
        """The sources as the context they were, so that it can be given to any check."""
        from ragkit.context import Context, Source, find_instructions
        from ragkit.context.fence import enclose

        sources = tuple(Source(**dict(source), warnings=tuple(find_instructions(source.text)))
                        for source in self.sources)
        text, tag = enclose(sources)
        return Context(sources, text, self.tokens, self.budget, tag=tag)


def load_recorded(path: str | Path | None = None) -> list[RecordedAnswer]:
    """Read a JSON Lines file of recorded answers; None reads ``data/recorded_answers.jsonl``.

    Raises:
        ValueError: a bad line: names the file, the line, the field and what is wrong.
    """
    path = data_path("recorded_answers.jsonl") if path is None else Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: not UTF-8 ({error})") from error
    answers: dict[str, RecordedAnswer] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = RecordedAnswer.model_validate(json.loads(line))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the line"
            raise ValueError(f"{path.name}, line {number}, {field}: {first['msg']}") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name}, line {number}: not JSON ({error})") from error
        if answer.id in answers:
            raise ValueError(f"{path.name}, line {number}, id: {answer.id!r} is there twice")
        answers[answer.id] = answer
    return list(answers.values())
