"""How well ``SignalJudge`` tells supported claims from others, and how many changed facts it catches.

    python3 benchmarks/support.py           what the handbook shows; with RAGKIT_DATA=FOLDER the public sets as well
    python3 benchmarks/support.py --fit     fit the weights anew on the tuning halves and print them

``FOLDER`` holds ``wice_dev`` and ``scifact_verify_train``. Each is split by source (WiCE by the cited page, SciFact by
the abstract): one half tunes, the other reports. Intervals are 95% bootstrap over claims, 1,000 draws.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("RAGKIT_PROGRESS", "0")

import numpy as np  # noqa: E402

from benchmarks.support_cases import TrueSentence, changed, paraphrased, verbatim  # noqa: E402
from ragkit.citations.support import SignalJudge  # noqa: E402
from ragkit.embedding import HashingEmbedder, shared_embedder  # noqa: E402

DRAWS = 1_000
SETS = {"wice_dev": "supported", "scifact_verify_train": "SUPPORT"}


@dataclass(frozen=True)
class Case:
    """A claim of a public set with its source. ``half``: 0 tunes, 1 reports."""

    claim: str
    source: str
    supported: bool
    half: int


def measure() -> None:
    """Report; nothing is fitted."""
    main([])


def main(arguments: list[str]) -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="support.py", description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="fit the weights anew and print them")
    fit_them = parser.parse_args(arguments).fit
    folder = os.environ.get("RAGKIT_DATA")
    if fit_them:
        if not folder:
            parser.error("--fit needs RAGKIT_DATA=FOLDER with wice_dev and scifact_verify_train")
        fit(Path(folder))
        return
    for name, judge in (("MiniLM", SignalJudge()), ("words only", SignalJudge(HashingEmbedder()))):
        handbook(name, judge)
        if folder:
            public(name, judge, Path(folder))
    if not folder:
        print("set RAGKIT_DATA to a folder with wice_dev and scifact_verify_train for the public figures")


# The handbook ---------------------------------------------------------------------------------------------------

def handbook(name: str, judge: SignalJudge) -> None:
    """True sentences that pass, changed ones that are caught, and true sentences beside a source of another matter."""
    sentences = verbatim()
    groups = {"as they stand": sentences}
    for half in ("tune", "report"):
        groups[f"in other words, {half}"] = [sentence for sentence in paraphrased() if sentence.half == half]
    for group, members in groups.items():
        print(f"{name}: true sentences {group}: {share([passes(judge, item, item.text) for item in members])} pass")
        caught: dict[str, list[bool]] = {}
        for item in members:
            for kind, text in changed(item):
                caught.setdefault(kind, []).append(not passes(judge, item, text))
        every = [one for kind in caught.values() for one in kind]
        print(f"    changed: {share(every)} caught; " + ", ".join(f"{kind} {share(caught[kind])}" for kind in sorted(caught)))
        strange = [not passes(judge, TrueSentence("", "", members[index - 7].sources, ""), item.text)
                   for index, item in enumerate(members)]
        print(f"    beside the source of another sentence: {share(strange)} do not pass")


def passes(judge: SignalJudge, item: TrueSentence, text: str) -> bool:
    """Whether one of the sources supports the text."""
    return any(judge.judge([text], source)[0].label == "supported" for source in item.sources)


def share(values: list[bool]) -> str:
    """"97.5% (39/40)"."""
    return f"{100 * sum(values) / max(1, len(values)):.1f}% ({sum(values)}/{len(values)})"


# The public sets ------------------------------------------------------------------------------------------------

def read_cases(folder: Path, name: str) -> list[Case]:
    """The cases of a public set. A source is the title and the sentences, each a paragraph."""
    cases = []
    for line in (folder / name / "cases.jsonl").read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        sentences = [sentence.strip() for sentence in row["evidence_sentences"]]
        owner = row.get("doc_id") or row["evidence_sentences"][0]
        source = "\n\n".join([row["title"], *sentences] if "title" in row else sentences)
        half = int(hashlib.sha256(owner.encode()).hexdigest(), 16) % 2
        cases.append(Case(row["claim"], source, row["label"] == SETS[name], half))
    return cases


def public(name: str, judge: SignalJudge, folder: Path) -> None:
    """AUROC of the score on the reporting halves, beside plain coverage, plain cosine and their sum."""
    for set_name in SETS:
        cases = [case for case in read_cases(folder, set_name) if case.half == 1]
        truth = np.array([case.supported for case in cases])
        verdicts = [judge.judge([case.claim], case.source)[0] for case in cases]
        labels = Counter((verdict.label, case.supported) for verdict, case in zip(verdicts, cases, strict=True))
        scores = {"score": np.array([verdict.score for verdict in verdicts])}
        if name == "MiniLM":
            scores |= plain(cases)
        print(f"{name}: {set_name}, reporting half, {len(cases)} claims, {truth.sum()} supported")
        for what, values in scores.items():
            low, high = interval(values, truth)
            print(f"    AUROC {what:<28} {auroc(values, truth):.3f} ({low:.3f} to {high:.3f})")
        print("    labels: " + ", ".join(f"{label} {'(supported)' if true else '(not)'} {count}"
                                         for (label, true), count in sorted(labels.items())))


def plain(cases: list[Case]) -> dict[str, np.ndarray]:
    """The signals that anybody has at once: coverage of content words, best cosine, and their sum."""
    from ragkit.citations.passage import read_passage
    from ragkit.citations.signals import likely_units
    from ragkit.wording import content_stems

    embedder = shared_embedder()
    whole, window, cosine = [], [], []
    for case in cases:
        units = read_passage(case.source).units
        stems, sets = set(content_stems(case.claim)), [set(unit.stems) for unit in units]
        joined = [set().union(*sets[start:start + 3]) for start in range(max(1, len(sets) - 2))]
        whole.append(len(stems & set().union(*sets)) / max(1, len(stems)))
        window.append(max(len(stems & there) for there in joined) / max(1, len(stems)))
        likely = likely_units(tuple(stems), units)  # a web page has a thousand sentences; most share no word
        vectors = embedder.encode_passages([units[index].text for index in likely])
        cosine.append(float((vectors @ embedder.encode_queries([case.claim])[0]).max()))
    return {"plain coverage": np.array(whole), "plain coverage, 3 sentences": np.array(window),
            "plain cosine, best sentence": np.array(cosine),
            "the three summed": np.array(whole) + np.array(window) + np.array(cosine)}


def auroc(scores: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a supported claim scores above one that is not; ties count half (Mann-Whitney U)."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def interval(scores: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """95% bootstrap interval of the AUROC."""
    dice, values = np.random.default_rng(7), []
    while len(values) < DRAWS:
        drawn = dice.integers(len(scores), size=len(scores))
        if 0 < truth[drawn].sum() < len(drawn):
            values.append(auroc(scores[drawn], truth[drawn]))
    return tuple(np.quantile(values, (0.025, 0.975)))


# The fit --------------------------------------------------------------------------------------------------------

def fit(folder: Path) -> None:
    """Logistic regression on the tuning halves, both sets counted alike; the threshold from restated sentences."""
    for name, embedder in (("MINILM", shared_embedder()), ("WORDS_ONLY", HashingEmbedder())):
        judge = SignalJudge(embedder)
        rows, truth, owner = signals(judge, folder)
        names = list(rows[0])
        weights = _regression(np.array([[row[name] for name in names] for row in rows]), truth, owner)
        print(name, ", ".join(f'("{signal}", {weight:.2f})' for signal, weight in zip(names, weights, strict=False)),
              f"start {weights[-1]:.2f}; with the weights in use, 97% of the true sentences in other words reach "
              f"{threshold(judge):.2f}")


def signals(judge: SignalJudge, folder: Path) -> tuple[list[dict[str, float]], np.ndarray, np.ndarray]:
    """The signals of all tuning cases, whether each is supported, and which set it is from."""
    rows, truth, owner = [], [], []
    for number, name in enumerate(SETS):
        for case in read_cases(folder, name):
            if case.half == 0:
                rows.append(judge.measure([case.claim], case.source)[0].values)
                truth.append(case.supported)
                owner.append(number)
    return rows, np.array(truth), np.array(owner)


def _regression(values: np.ndarray, truth: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """One weight a signal and the start, for signals as they are (they are brought to one scale for the fit)."""
    from sklearn.linear_model import LogisticRegression

    spread = np.maximum(values.std(axis=0), 1e-9)
    counts = np.bincount(owner)
    model = LogisticRegression(C=0.3, max_iter=2_000)
    model.fit(values / spread, truth, sample_weight=len(owner) / (len(counts) * counts[owner]))
    return np.append(model.coef_[0] / spread, model.intercept_[0])


def threshold(judge: SignalJudge) -> float:
    """The score that 97% of the true sentences reach that restate gold answers in other words, tuning half. Those
    with a clash (which no threshold lets pass) count among the other 3%."""
    scores = [max(judge.judge([item.text], source)[0].score for source in item.sources)
              for item in paraphrased() if item.half == "tune"]
    return float(np.quantile(scores, 0.03))


if __name__ == "__main__":
    main(sys.argv[1:])
