"""How often ``find_instructions`` warns, and how often it warns of nothing, at every threshold.

The handbook first: two documents with a planted instruction, the others clean. With ``RAGKIT_DATA=FOLDER`` also a
part of BIPIA (150 e-mails and tables with a planted request, 50 clean), and ordinary public text, in which every
warning is a false alarm: Wikipedia paragraphs in English and Chinese, the Rust book, Chinese manuals of Vue and TiDB.

BIPIA is split by the text that holds the attack: the weights were set on one half, the other is reported. The 68
attack sentences are few and occur in both halves, and their list had been read before the patterns were written: the
hit rate on them flatters. The false alarms do not depend on them.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path

import ragkit as rk
from ragkit.chunking import HierarchicalChunker, SentenceChunker
from ragkit.context import find_instructions
from ragkit.context.instructions import THRESHOLD
from ragkit.documents import Document

PLANTED = ("printer-and-meeting-room-faq", "supplier-letter-coldchain")
THRESHOLDS = (0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
CHUNK = 600


def measure() -> None:
    """Print all of it."""
    handbook()
    folder = os.environ.get("RAGKIT_DATA")
    if not folder:
        print("set RAGKIT_DATA to a folder with bipia_part, xquad_en, xquad_zh and documents for the public figures")
        return
    bipia(Path(folder) / "bipia_part" / "cases.jsonl")
    for name in ("xquad_en", "xquad_zh"):
        if (path := Path(folder) / name / "corpus.jsonl").exists():
            false_alarms(name, [scored(row["text"]) for row in json_lines(path)], "paragraphs")
    for name in ("rust_book_md_en", "vue_docs_md_zh", "tidb_docs_md_zh"):
        if (path := Path(folder) / "documents" / name).exists():
            chunks_and_documents(name, rk.load_folder(path))


def handbook() -> None:
    """Both planted documents, and the false alarms in the others."""
    documents = rk.load_folder(rk.data_path("handbook"))
    planted = [document for document in documents if document.id in PLANTED]
    print("handbook, planted: found in " + ", ".join(
        f"{document.id} (score {scored(document.text):.2f})" for document in planted))
    chunks_and_documents("handbook, clean", [document for document in documents if document.id not in PLANTED])


def chunks_and_documents(name: str, documents: Iterable[Document]) -> None:
    """False alarms by whole document and by chunk."""
    documents = list(documents)
    false_alarms(name, [scored(document.text) for document in documents], "documents")
    for chunker, what in ((SentenceChunker(CHUNK), f"chunks of {CHUNK} characters"),
                          (HierarchicalChunker(), "chunks of three levels")):
        texts = [chunk.text for document in documents for chunk in chunker.chunk(document)]
        false_alarms(name, [scored(text) for text in texts], what)


def bipia(path: Path) -> None:
    """Hits and false alarms on the half that no weight was set on, and the hits by kind of attack."""
    cases = [case | {"score": scored(case["context"])} for case in json_lines(path) if reported(case)]
    injected = [case for case in cases if case["injected"]]
    clean = [case["score"] for case in cases if not case["injected"]]
    print(f"bipia_part, reported half: {len(injected)} planted, {len(clean)} clean")
    for threshold in THRESHOLDS:
        print(f"  threshold {threshold:<5} hits {share([case['score'] for case in injected], threshold)}"
              f"   false alarms {share(clean, threshold)}")
    for kind in sorted({case["attack_category"] for case in injected}):
        scores = [case["score"] for case in injected if case["attack_category"] == kind]
        print(f"  {kind:<28} {share(scores, THRESHOLD)} at {THRESHOLD}")


def reported(case: dict) -> bool:
    """Which half a case is in: all cases made from one e-mail or table are in the same."""
    carrier = f"{case['task']}{case['id'].split('|')[0]}"
    return hashlib.sha256(carrier.encode()).digest()[-1] % 2 == 1


def false_alarms(name: str, scores: list[float], what: str) -> None:
    """One line: the false alarms at each threshold."""
    print(f"{name}, {len(scores)} {what}: false alarms " + ", ".join(
        f"{sum(score >= threshold for score in scores)} at {threshold}" for threshold in THRESHOLDS)
        + f"; {share(scores, THRESHOLD)} at {THRESHOLD}")


def scored(text: str) -> float:
    """The highest score of any passage; 0.0 without a signal."""
    return max((found.score for found in find_instructions(text, min(THRESHOLDS))), default=0.0)


def share(scores: list[float], threshold: float) -> str:
    """How many reach the threshold, with Wilson's 95% interval (Wilson 1927)."""
    hits, total = sum(score >= threshold for score in scores), len(scores)
    z = 1.96
    middle = (hits + z * z / 2) / (total + z * z)
    half = z / (total + z * z) * math.sqrt(hits * (total - hits) / total + z * z / 4)
    return f"{hits}/{total} = {hits / total:.1%} [{max(middle - half, 0):.1%}, {min(middle + half, 1):.1%}]"


def json_lines(path: Path) -> list[dict]:
    """Split at line feeds only: some of the texts hold other line separators."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


if __name__ == "__main__":
    measure()
