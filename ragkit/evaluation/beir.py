"""Collections in the layout of BEIR: documents, queries, and grades of which answers which (chapter 08).

    FOLDER/corpus.jsonl      {"_id": …, "title": …, "text": …} a line
    FOLDER/queries.jsonl     {"_id": …, "text": …} a line
    FOLDER/qrels/SPLIT.tsv   query id, document id, grade a line, with tabs between; or FOLDER/qrels.tsv

Source: Thakur et al. (2021), "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval
Models".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragkit.documents import Document
from ragkit.evaluation.lines import json_of, numbered_lines, short

DEFAULT_SPLIT = "test"


@dataclass(frozen=True)
class BeirSet:
    """One collection with the judgements of one split.

    Attributes:
        folder: where it lies.
        split: "train", "dev" or "test".
        queries: text by query id, of the judged queries only, in the file's order.
        qrels: grade by document id, by query id; relevant is what has a grade above 0.
        size: how many documents there are.
    """

    folder: Path
    split: str
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    size: int

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    def documents(self) -> Iterator[Document]:
        """The documents, one at a time, read anew from the file at each call.

        The title stands in ``Document.title``, and so in the prefix of every chunk, not in the text; where
        there is no text, the title is the text.
        """
        for id_, row in _rows(self.folder / "corpus.jsonl", f"{self.name}, documents"):
            title, text = row.get("title") or "", row["text"]
            yield Document(id=id_, title=title, text=text if text.strip() else title)


def load_beir(folder: str | Path, split: str = DEFAULT_SPLIT) -> BeirSet:
    """Read a BEIR folder; every line of it is checked before anything is searched.

    Args:
        split: the name of a file in ``qrels/``. A lone ``qrels.tsv`` is the split "test".

    Raises:
        FileNotFoundError: a file is missing; names it, and the splits that there are.
        ValueError: a bad line; names the file, the line and the value.
    """
    folder = Path(folder)
    qrels_path = _qrels_path(folder, split)
    documents = {id_ for id_, _ in _rows(folder / "corpus.jsonl", f"{folder.name}, checking")}
    queries = {id_: row["text"] for id_, row in _rows(folder / "queries.jsonl", f"{folder.name}, queries")}
    qrels = _read_qrels(qrels_path, queries, documents)
    return BeirSet(folder, split, {id_: text for id_, text in queries.items() if id_ in qrels}, qrels, len(documents))


def _qrels_path(folder: Path, split: str) -> Path:
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl"):
        if not path.is_file():
            raise FileNotFoundError(f"there is no {path.name} in {folder}; a BEIR folder holds corpus.jsonl, "
                                    "queries.jsonl and qrels/SPLIT.tsv or qrels.tsv")
    path = folder / "qrels" / f"{split}.tsv"
    if path.is_file():
        return path
    splits = sorted(found.stem for found in (folder / "qrels").glob("*.tsv"))
    lone = folder / "qrels.tsv"
    if lone.is_file() and not splits:
        if split == DEFAULT_SPLIT:
            return lone
        splits = [DEFAULT_SPLIT]
    raise FileNotFoundError(f"there are no judgements of the split {split!r} in {folder}; "
                            f"the splits are {', '.join(splits) or 'none: add qrels.tsv'}")


def _rows(path: Path, what: str) -> Iterator[tuple[str, dict]]:
    """Id and fields of each line; a line that is no object with an id and a text is an error."""
    first: dict[str, int] = {}
    for number, line in numbered_lines(path, what):
        where = f"{path.name}, line {number}"
        row = json_of(line, where)
        if not isinstance(row, dict):
            raise ValueError(f"{where}: {short(row)} is no object with _id and text")
        for field in ("_id", "text"):
            if not isinstance(row.get(field), str):
                raise ValueError(f"{where}, {field}: {short(row.get(field))} is no text")
        if not isinstance(row.get("title") or "", str):
            raise ValueError(f"{where}, title: {short(row['title'])} is no text")
        id_ = row["_id"]
        if not id_.strip():
            raise ValueError(f"{where}, _id: {id_!r} is blank")
        if id_ in first:
            raise ValueError(f"{where}, _id: {short(id_)} is there twice, first in line {first[id_]}")
        first[id_] = number
        yield id_, row


def _read_qrels(path: Path, queries: dict[str, str], documents: set[str]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    first = True
    for number, line in numbered_lines(path, f"{path.name}, judgements"):
        may_be_header, first = first, False
        where = f"{path.name}, line {number}"
        columns = line.split("\t")
        if len(columns) != 3:
            raise ValueError(f"{where}: {short(line)} has {len(columns)} columns where 3 are needed: "
                             "query id, document id, grade, with tabs between")
        query, document, grade_text = columns
        if may_be_header and query not in queries and document not in documents and not _is_integer(grade_text):
            continue  # the header, whatever it calls the columns
        if query not in queries:
            raise ValueError(f"{where}: the query id {query!r} is not in queries.jsonl")
        if not queries[query].strip():
            raise ValueError(f"{where}: the query {query!r} is blank in queries.jsonl ({queries[query]!r})")
        if document not in documents:
            raise ValueError(f"{where}: the document id {document!r} is not in corpus.jsonl")
        if not _is_integer(grade_text):
            raise ValueError(f"{where}: the grade {grade_text!r} is not a whole number")
        grade = int(grade_text)
        known = qrels.setdefault(query, {}).setdefault(document, grade)
        if known != grade:
            raise ValueError(f"{where}: {query!r} and {document!r} have the grade {grade} here and {known} before")
    if not qrels:
        raise ValueError(f"{path.name}: there is no judgement in it")
    return qrels


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()
