"""The gate: green on equality, red on a real regression, and never a pass where nothing was compared."""

import json

import pytest

from ragkit import data_path
from ragkit.evaluation import Question, evaluate, load_questions
from ragkit.evaluation.gate import Baseline, Entry, GateRow, check_gate, default_tolerance, fingerprint, load_baseline
from ragkit.evaluation.metrics import Mean
from ragkit.knowledge_base import KnowledgeBase
from ragkit.settings import Settings
from tests.evaluation.small_questions import small_base, small_questions
from tests.fixtures import ROOT

COMMITTED = ROOT / "benchmarks" / "baseline.json"


@pytest.fixture(scope="module")
def small():
    return evaluate(small_base(), small_questions())


def row(before, now, metric="recall", tolerance=0.05):
    return GateRow("overall", metric, Entry(before, 10, tolerance), Mean(now, 10))


def test_equal_runs_are_green_and_nothing_moved(small, tmp_path):
    Baseline.of(small).save(tmp_path / "b.json")
    baseline = load_baseline(tmp_path / "b.json")
    assert baseline == Baseline.of(small)
    report = check_gate(evaluate(small_base(), reversed(small_questions())), baseline)
    assert report.passed and {one.verdict for one in report.rows} == {"same"}
    assert report.summary == "Not worse than the baseline; no scores moved."
    head, rows = report.table()
    assert head == ["metric", "baseline (n)", "now (n)", "difference", "tolerance", "verdict"]
    assert rows[0] == ["overall recall", "1.000 (3)", "1.000 (3)", "+0.000", "0.334", "same"]


def test_the_file_is_the_same_each_time_and_reads_line_by_line(small, tmp_path):
    for name in ("a.json", "b.json"):
        Baseline.of(evaluate(small_base(), small_questions())).save(tmp_path / name)
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.json").read_text(encoding="utf-8")
    assert '      "recall": {"value": 1.0, "n": 3, "tolerance": 0.334},\n' in text
    assert '      "errors": {"value": 0.0, "n": 5, "tolerance": 0.0}\n' in text


@pytest.mark.parametrize(("before", "now", "metric", "verdict"), [
    (0.8, 0.8, "recall", "same"),
    (0.8, 0.8 + 1e-9, "recall", "same"),
    (0.8, 0.75, "recall", "within tolerance"),
    (0.8, 0.85, "recall", "within tolerance"),
    (0.8, 0.7499, "recall", "worse"),
    (0.8, 0.8501, "recall", "better"),
    (0.8, None, "recall", "missing"),
    (None, 0.8, "recall", "new"),
    (None, None, "recall", "same"),
    (0.0, 1.0, "errors", "worse"),
    (2.0, 1.0, "errors", "better"),
    (1000.0, 1001.0, "characters_read", "worse"),
    (1000.0, 999.0, "characters_read", "better")])
def test_verdicts(before, now, metric, verdict):
    one = row(before, now, metric)
    assert one.verdict == verdict
    assert one.failed == (verdict in ("worse", "missing"))


@pytest.mark.parametrize(("metric", "value", "n", "tolerance"), [
    ("recall", 0.9, 158, 0.013), ("recall", 0.9, 1000, 0.01), ("recall", 0.9, 20, 0.05),
    ("recall", 0.9, 40, 0.05), ("recall", 0.9, 9, 0.112),
    ("recall", None, 0, 0.05),
    ("errors", 0.0, 222, 0.0), ("characters_read", 1872.3, 134, 94.0)])
def test_tolerances(metric, value, n, tolerance):
    assert default_tolerance(metric, value, n) == tolerance


def test_a_regression_is_red_and_the_table_names_it(small):
    worse = evaluate(small_base(min_score=0.95), small_questions())
    report = check_gate(worse, Baseline.of(small))
    assert not report.passed
    assert "overall answered" in {f"{one.group} {one.metric}" for one in report.failures}
    text = str(report)
    assert "min_score 0.2 -> 0.95" in text and "overall answered" in report.summary
    line = next(line for line in text.splitlines() if line.startswith("overall answered "))
    assert line.split() == ["overall", "answered", "1.000", "(3)", "0.000", "(3)", "-1.000", "0.334", "worse"]
    assert "overall token_f1" in report.summary  # nobody was answered: undefined, and no pass
    assert report.to_dict()["passed"] is False


def test_what_got_better_is_green_and_said(small):
    worse = evaluate(small_base(min_score=0.95), small_questions())
    report = check_gate(small, Baseline.of(worse))
    assert report.passed and "write the baseline anew" in report.summary


def test_tolerances_edited_by_hand_are_kept(small, tmp_path):
    Baseline.of(small).save(tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text(encoding="utf-8")
    (tmp_path / "b.json").write_text(text.replace('"n": 3, "tolerance": 0.334', '"n": 3, "tolerance": 1'), "utf-8")
    old = load_baseline(tmp_path / "b.json")
    new = Baseline.of(small, old)
    assert new.entries["overall", "recall"].tolerance == 1
    assert check_gate(evaluate(small_base(min_score=0.95), small_questions()), new).failures  # those of other n


def test_an_error_is_a_regression(small, monkeypatch):
    monkeypatch.setattr(KnowledgeBase, "ask", lambda *_, **__: 1 / 0)
    report = check_gate(evaluate(small_base(), small_questions()), Baseline.of(small))
    assert "overall errors" in report.summary


def test_other_questions_are_an_error_not_a_pass(small):
    baseline = Baseline.of(small)
    fewer = evaluate(small_base(), small_questions()[:4])
    with pytest.raises(ValueError, match="the 4 questions .* are not the 5 of the baseline"):
        check_gate(fewer, baseline)
    first, *others = small_questions()
    edited = [first.model_copy(update={"answer": "EUR 151"}), *others]
    with pytest.raises(ValueError, match="write the baseline anew"):
        check_gate(evaluate(small_base(), edited), baseline)


def test_another_k_or_no_answers_is_an_error(small):
    baseline = Baseline.of(small)
    with pytest.raises(ValueError, match="made with k 8, and this run with 3"):
        check_gate(evaluate(small_base(), small_questions(), k=3), baseline)
    with pytest.raises(ValueError, match="made with answers True, and this run with False"):
        check_gate(evaluate(small_base(), small_questions(), answers=False), baseline)


def test_a_score_that_one_side_lacks_is_an_error(small, tmp_path):
    Baseline.of(small).save(tmp_path / "b.json")
    plain = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    entry = plain["scores"]["overall"].pop("ndcg")
    (tmp_path / "b.json").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(ValueError, match="the baseline has no score 'overall ndcg'"):
        check_gate(small, load_baseline(tmp_path / "b.json"))
    plain["scores"]["overall"] |= {"ndcg": entry, "beauty": entry}
    (tmp_path / "b.json").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(ValueError, match="this run has no score 'overall beauty'"):
        check_gate(small, load_baseline(tmp_path / "b.json"))


@pytest.mark.parametrize(("text", "said"), [
    ("{\n1}", r"b\.json, line 2: not JSON"),
    ("[]", r"b\.json: \[\] is no baseline"),
    ('{"fingerprint": 3}', r"b\.json, fingerprint: 3 is no str"),
    ('{"fingerprint": "x", "questions": 1, "k": 8, "answers": true, "settings": {}, "scores": {"overall": '
     '{"recall": {"value": "high", "n": 1, "tolerance": 0}}}}', r"scores\.overall\.recall\.value: 'high' is no number"),
    ('{"fingerprint": "x", "questions": 1, "k": 8, "answers": true, "settings": {}, "scores": {"overall": '
     '{"recall": {"value": 1, "n": 1, "tolerance": NaN}}}}', r"scores\.overall\.recall\.tolerance: nan is no number")])
def test_a_bad_file_is_told_with_its_value(text, said, tmp_path):
    (tmp_path / "b.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        load_baseline(tmp_path / "b.json")


def test_a_file_in_another_encoding_is_told_and_a_mark_before_the_text_is_read(small, tmp_path):
    path = tmp_path / "b.json"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(ValueError, match=r"^b.json: not UTF-8 \(got b'\\xff'\)$"):
        load_baseline(path)
    Baseline.of(small).save(path)
    plain = load_baseline(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_baseline(path) == plain


def test_the_fingerprint_reads_every_field_and_no_order():
    questions = small_questions()
    assert fingerprint(questions) == fingerprint(questions[::-1])
    plain = questions[0].model_dump(mode="json")
    for change in ({"question": "Another?"}, {"reader": ["staff"]}, {"filters": {"topic": "travel"}},
                   {"gold": [[{"document": "hotel", "version": "1", "quote": "Breakfast"}]]}):
        assert fingerprint([Question(**plain | change)]) != fingerprint([Question(**plain)])
    readers = [Question(**plain | {"reader": names}) for names in (["a", "b", "c"], ["c", "b", "a"])]
    assert fingerprint(readers[:1]) == fingerprint(readers[1:])


def test_the_committed_baseline_is_of_the_handbook_s_dev_half_and_the_defaults():
    baseline = load_baseline(COMMITTED)
    questions = load_questions(split="dev")
    assert (baseline.fingerprint, baseline.questions) == (fingerprint(questions), len(questions))
    assert baseline.answers and baseline.k == Settings().top_k
    assert baseline.settings == json.loads(json.dumps(Settings().to_dict()))
    assert {group for group, _ in baseline.entries} == {"overall", "en", "zh"}


@pytest.mark.slow
@pytest.mark.parametrize(("change", "lost"), [
    ({"min_score": 0.6}, {"answered", "evidence_recall"}),
    ({"level_sizes": (240, 160, 80)}, {"recall", "ndcg", "evidence_recall"})], ids=["min_score 0.6", "chunk size 80"])
def test_real_regressions_on_the_handbook_are_red(change, lost):
    questions = load_questions(split="dev", language="en")
    settings = Settings()
    good = evaluate(KnowledgeBase.from_folder(data_path("handbook")), questions, answers=False)
    baseline = Baseline.of(good)
    assert check_gate(good, baseline).passed
    bad = evaluate(KnowledgeBase.from_folder(data_path("handbook"), settings.replace(**change)), questions,
                   answers=False)
    report = check_gate(bad, baseline)
    assert not report.passed
    assert lost <= {one.metric for one in report.failures}
