"""How fast the package is on this machine, and how good, against named references. Prints; never fails on a figure.

    python3 course.py bench [PART ...]      default: all; the parts are import, retrieve, handbook and labs for speed,
                                            quality, grading, instructions, quotes and support for the rest
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import get_clock_info, perf_counter, thread_time

ROOT = Path(__file__).resolve().parent.parent
DIMENSION = 384
SIZES = (20_000, 200_000)
TOPICS = ("travel", "finance", "it", "people")
TOP_K = 8
ROUNDS = 400


def main(arguments: list[str]) -> None:
    """Run the parts named, or all of them."""
    parser = argparse.ArgumentParser(prog="course.py bench", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    for part in chosen:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; the parts are {', '.join(PARTS)}")
    for part in chosen:
        PARTS[part]()


def report(what: str, measured: str, aim: str) -> None:
    """One line of the report."""
    print(f"{what:<58} {measured:>32}   aim: {aim}", flush=True)


def import_time() -> None:
    """``import ragkit`` in a fresh process, less what the bare interpreter takes; the median of 9."""
    def once(code: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
        return perf_counter() - start

    pairs = [(once("import ragkit"), once("pass")) for _ in range(9)]
    seconds = statistics.median(with_it - bare for with_it, bare in pairs)
    whole = statistics.median(with_it for with_it, _ in pairs)
    report("import ragkit", f"{seconds:.3f} s ({whole:.3f} s with Python)", "below 0.15 s")


def retrieve_against_faiss() -> None:
    """``retrieve`` with the question's vector given, against a bare FAISS search of the same vectors, same k.

    The two take turns with the same question on the very same FAISS index, so that whatever else the machine
    does, and what lies in its caches, falls on both alike. One thread: for a single query FAISS has no use for
    more, and threads that wait for each other make times jump.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    import faiss
    import numpy as np

    from ragkit.filters import RetrievalFilters
    from ragkit.retrieval import retrieve
    from ragkit.settings import Settings

    settings = Settings(top_k=TOP_K, min_score=None)
    kinds = {"no expansion": ("none", None), "parents": ("parents", None), "auto_merge": ("auto_merge", None),
             "one topic of four": ("none", RetrievalFilters(topic=TOPICS[0])),
             "one topic of four, parents": ("parents", RetrievalFilters(topic=TOPICS[0]))}
    for size in SIZES:
        corpus, queries = synthetic(size)
        bare = corpus.index._index
        topic = np.array([int(id_[1:id_.index("@")]) % len(TOPICS) == 0 for id_ in corpus.index.ids])
        bits = np.packbits(topic, bitorder="little")
        only = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        for name, (expansion, filters) in kinds.items():
            chosen = settings.replace(expansion=expansion)
            ours, theirs = take_turns(
                [lambda query: retrieve("q", chosen, corpus=corpus, filters=filters, query_vector=query),
                 lambda query: bare.search(query[None], TOP_K, params=only if filters else None)],
                queries, ROUNDS if size < 100_000 else ROUNDS // 4)
            report(f"retrieve / FAISS, {size:,} chunks, {name}",
                   f"{ours / theirs:.3f} ({ours * 1000:.2f} / {theirs * 1000:.2f} ms)",
                   "at most 1.15" if filters is None else "about 0.1 ms on top")


def take_turns(contestants: list[Callable], queries: list, rounds: int) -> list[float]:
    """The median seconds of each, which run by turns, each as often first as any other.

    Time of this thread where the system tells it finely enough: waiting for a busy machine is not counted.
    """
    fine = get_clock_info("thread_time").resolution < 1e-5
    clock = thread_time if fine else perf_counter
    times: list[list[float]] = [[] for _ in contestants]
    order = list(range(len(contestants)))
    for number in range(rounds + 5):
        query = queries[number % len(queries)]
        for position in order:
            start = clock()
            contestants[position](query)
            if number >= 5:  # the first ones warm caches up
                times[position].append(clock() - start)
        order.append(order.pop(0))
    return [statistics.median(column) for column in times]


def synthetic(size: int):
    """A corpus of ``size`` searched chunks: 40 a document, in three levels of 4, 2 and 5; vectors at random."""
    import numpy as np

    from ragkit.chunking import Chunk
    from ragkit.documents import Document
    from ragkit.embedding import HashingEmbedder
    from ragkit.index import FaissIndex
    from ragkit.parents import ChunkTree
    from ragkit.retrieval import Corpus

    random = np.random.default_rng(7)
    text = "x" * 2_000
    documents, chunks, ids = {}, ChunkTree(), []

    def add(owner: Document, level: int, start: int, length: int, parent: str | None) -> str:
        chunk = Chunk(f"{owner.id}@1:L{level}:{start}-{start + length}", owner.id, "1", level, start,
                      start + length, text[start:start + length], parent_id=parent)
        chunks[chunk.id] = chunk
        return chunk.id

    for number in range(size // 40):
        owner = Document(id=f"d{number}", title=f"Document {number}", text=text, topic=TOPICS[number % len(TOPICS)])
        documents[owner.key] = owner
        for long in range(0, 2_000, 500):
            top = add(owner, 1, long, 500, None)
            for middle in range(long, long + 500, 250):
                parent = add(owner, 2, middle, 250, top)
                ids += [add(owner, 3, start, 50, parent) for start in range(middle, middle + 250, 50)]
    # Children of one parent are alike, as real ones are, so that expansion has something to merge.
    centres = np.repeat(random.standard_normal((len(ids) // 5, DIMENSION), dtype=np.float32), 5, axis=0)
    vectors = centres + random.standard_normal((len(ids), DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = FaissIndex(DIMENSION)
    index.add(ids, vectors)
    near = vectors[random.choice(len(ids), 50)] + random.standard_normal((50, DIMENSION), dtype=np.float32) / 30
    queries = list((near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32))
    return Corpus(documents, chunks, index, HashingEmbedder(DIMENSION)), queries


HANDBOOK = """
import sys, time
start = time.perf_counter()
import ragkit as rk
from ragkit.embedding import make_embedder
make_embedder(rk.Settings().embedder).encode_queries(["warm"])
loaded = time.perf_counter()
kb = rk.KnowledgeBase.from_folder(rk.data_path("handbook"))
result = kb.retrieve("What is the hotel cap in Berlin?")
done = time.perf_counter()
print(loaded - start, done - loaded, len(kb.documents), len(kb.chunks), len(result.candidates))
"""


def handbook() -> None:
    """From a fresh process to the first answer, with an empty cache and with a filled one."""
    with tempfile.TemporaryDirectory(prefix="ragkit-bench-") as cache:
        environment = {**os.environ, "RAGKIT_CACHE": cache, "RAGKIT_PROGRESS": "0"}
        for name, aim in (("from cold", "below 30 s in all"), ("from the cache", "below 2 s besides the model")):
            run = subprocess.run([sys.executable, "-c", HANDBOOK], env=environment, cwd=ROOT, check=True,
                                 capture_output=True, text=True)
            model, rest, documents, chunks, _ = map(float, run.stdout.split()[-5:])
            report(f"handbook {name} ({documents:.0f} documents, {chunks:.0f} chunks)",
                   f"{rest:.2f} s + {model:.2f} s for the model", aim)


def labs() -> None:
    """Slider to screen in real JupyterLab, beside a bare slider and label."""
    os.environ |= {"RAGKIT_PROGRESS": "0", "HF_HUB_OFFLINE": "1"}
    from benchmarks.labs import measure, percentiles

    try:
        measured = measure()
    except RuntimeError as error:
        print(error)
        return
    bare = percentiles(next(iter(measured.values())))[1]
    for name, times in measured.items():
        median, ninety_five = percentiles(times)
        report(f"slider to screen, {name}",
               f"{median:.0f} ms, 95th percentile {ninety_five:.0f} ms", f"below 100 ms ({ninety_five / bare:.1f} bare)")


def beside(module: str) -> Callable[[], None]:
    """A part that is a module of its own: how good rather than how fast. It is imported when it is asked for."""
    def measure() -> None:
        import_module(f"benchmarks.{module}").measure()

    return measure


PARTS = {"import": import_time, "retrieve": retrieve_against_faiss, "handbook": handbook, "labs": labs,
         **{module: beside(module) for module in ("quality", "grading", "instructions", "quotes", "support")}}

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
