"""The command line: ``python -m ragkit check | ask | eval`` (chapters 00, 03, 07 and 08).

Exit codes: 0 done (a refusal is an answer too), 1 a check failed or the gate is red, 2 the command cannot be
carried out.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; ``arguments`` without the program's name. Gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # a Windows console may know no Chinese
    options = _parser().parse_args(arguments)
    if options.command == "check":
        from ragkit import setup_check

        return setup_check.main()
    try:
        if options.command == "eval":
            from ragkit.evaluation import command

            code = command.run(options)
        else:
            code = _ask(options)
        sys.stdout.flush()  # here, where what goes wrong can still be told
        return code
    except BrokenPipeError:  # whoever reads it has enough ("| head"); nothing is left to be said at the exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, RuntimeError) as error:
        print(f"ragkit {options.command}: {_sentence(error)}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ragkit", description="Ask a folder of documents.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="check the set-up, a line a part")
    ask = commands.add_parser("ask", help="a checked answer with its sources, or a refusal with its reason")
    ask.add_argument("folder", help="a folder of .md, .txt, .html, .pdf and .docx files")
    ask.add_argument("question")
    ask.add_argument("--settings", metavar="FILE.toml", help="settings to start from")
    ask.add_argument("--top-k", type=int, metavar="N", help="candidates to recall")
    ask.add_argument("--evidence-top-k", type=int, metavar="N", help="contexts to keep at most")
    ask.add_argument("--min-score", type=float, metavar="X", help="inclusive threshold in [0, 1]")
    ask.add_argument("--min-grade", type=float, metavar="X",
                     help="inclusive threshold in [0, 1] for the evidence's grade")
    ask.add_argument("--context-tokens", type=int, metavar="N", help="tokens that the evidence may take in a prompt")
    ask.add_argument("--generator", metavar="NAME", help="extractive (default), openai:MODEL or local[:PATH]")
    ask.add_argument("--embedder", metavar="NAME", help="minilm (default), multilingual, hashing, or a model folder")
    ask.add_argument("--topic", action="append", help="only documents on this topic; may be repeated")
    ask.add_argument("--effective-before", metavar="YYYY-MM-DD", help="what was in force on that day")
    ask.add_argument("--reader", action="append", default=[], metavar="GROUP",
                     help="a group you belong to; may be repeated")
    ask.add_argument("--evidence", action="store_true", help="show the evidence with its scores")
    ask.add_argument("--trace", action="store_true", help="show what each link did")
    ask.add_argument("--json", action="store_true", help="print JSON")
    score = commands.add_parser("eval", help="a scorecard of a set of questions, or two settings compared")
    score.add_argument("folder", help="a folder of .md, .txt, .html, .pdf and .docx files, or of the layout of BEIR")
    score.add_argument("questions", nargs="?", help="a .jsonl file of questions with their gold; BEIR goes without")
    score.add_argument("--split", choices=("train", "dev", "test"), help="only these of the questions")
    score.add_argument("--settings", metavar="FILE.toml", help="settings of the chain")
    score.add_argument("--compare", nargs=2, metavar=("A.toml", "B.toml"), help="two settings on the same questions")
    score.add_argument("--no-answers", action="store_true", help="score what is found only, which is faster")
    score.add_argument("--baseline", metavar="FILE.json", help="fail when worse than this by more than its tolerances")
    score.add_argument("--write", action="store_true", help="write the baseline anew")
    score.add_argument("--html", metavar="REPORT.html", help="write one page with tables, figures and what failed")
    score.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _ask(options: argparse.Namespace) -> int:
    from ragkit.filters import RetrievalFilters
    from ragkit.settings import Settings

    settings = Settings.from_toml(options.settings) if options.settings else Settings()
    changes = {name: getattr(options, name) for name in ("top_k", "evidence_top_k", "min_score", "min_grade",
                                                         "context_tokens", "generator", "embedder")}
    settings = settings.replace(**{name: value for name, value in changes.items() if value is not None})
    filters = RetrievalFilters(topic=options.topic, effective_before=options.effective_before)
    # Bytes that are no text come as surrogates, which no tokenizer takes.
    question = options.question.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if not question.strip():
        raise ValueError("the question is empty; put it in quotes behind the folder")
    os.environ.setdefault("RAGKIT_PROGRESS", "1" if sys.stderr.isatty() else "0")

    from ragkit.knowledge_base import KnowledgeBase

    base = KnowledgeBase.from_folder(options.folder, settings)
    for problem in base.load_report.problems:
        print(f"not read: {problem.source}: {problem.reason} ({problem.advice})", file=sys.stderr)
    answer = base.ask(question, filters, reader=options.reader)
    if options.json:
        print(json.dumps(_as_dict(answer, base, options.trace), ensure_ascii=False, indent=2))
        return 0
    print(answer)
    if options.evidence:
        print(f"\nEvidence:\n{_evidence_text(answer.result, base)}")
    if options.trace:
        print(f"\n{answer.trace}")
    return 0


def _evidence_text(result, base) -> str:
    entries = []
    for entry in _evidence(result, base):
        place = " > ".join(entry["heading_path"])
        page = f", page {entry['page']}" if entry["page"] is not None else ""
        entries.append(f"{entry['score']:.3f}  {entry['document']} version {entry['version']}, {entry['source']}"
                       f"{page}, line {entry['line']}" + (f": {place}" if place else "")
                       + "\n    " + entry["text"].strip().replace("\n", "\n    "))
    return "\n".join(entries) or "none"


def _evidence(result, base) -> list[dict]:
    entries = []
    for hit in result.evidence:
        chunk = hit.chunk
        document = base.corpus.documents[chunk.document_id, chunk.version]
        location = document.locate(chunk.start, chunk.end)
        entries.append({"document": document.id, "version": document.version, "title": document.title,
                        "source": document.source, "score": round(hit.score, 6), "start": chunk.start,
                        "end": chunk.end, "page": location.page, "line": location.line,
                        "heading_path": list(location.heading_path), "matched": list(hit.matched),
                        "text": chunk.text})
    return entries


def _as_dict(answer, base, with_trace: bool) -> dict:
    plain = answer.to_dict() | {"evidence": _evidence(answer.result, base)}
    return plain if with_trace else {name: value for name, value in plain.items() if name != "trace"}


def _sentence(error: Exception) -> str:
    """One line: pydantic's errors are reduced to the field and what is wrong with it."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join([*map(str, first["loc"]), first["msg"]])
    return " ".join(str(error).split())
