"""Questions with gold evidence, metrics over what a chain found, and what went wrong (chapter 08).

``recall_at_k`` here is the one over spans. Those over document ids are in ``ragkit.evaluation.metrics``.
"""

from ragkit.evaluation import metrics
from ragkit.evaluation.agreement import Agreement, cohen_kappa, judge_agreement
from ragkit.evaluation.answers import RefusalMatrix, answer_metrics, exact_match, number_match, token_f1, token_recall
from ragkit.evaluation.beir import BeirSet, load_beir
from ragkit.evaluation.beir_run import BeirScores, evaluate_beir
from ragkit.evaluation.compare import COMPARED, Comparison, compare
from ragkit.evaluation.failures import Failure, attribute_failures
from ragkit.evaluation.gate import Baseline, check_gate, load_baseline
from ragkit.evaluation.giveaways import Overlap, find_giveaways, word_overlap
from ragkit.evaluation.metrics import Mean, characters_read, gold_coverage, mean, rank, span_metrics
from ragkit.evaluation.outcome import METRIC_NAMES, Outcome
from ragkit.evaluation.questions import (KINDS, Gold, GoldQuote, Question, Span, found_groups, gold_spans,
                                         load_questions, recall_at_k)
from ragkit.evaluation.run import Evaluation, evaluate
from ragkit.evaluation.scorecard import Scorecard, ScoreGroup
from ragkit.evaluation.statistics import (Difference, bootstrap_interval, paired_difference, questions_needed,
                                          randomisation_test)
from ragkit.evaluation.sweep import Sweep, sweep
from ragkit.evaluation.verdicts import Verdict

__all__ = ["COMPARED", "KINDS", "METRIC_NAMES", "Agreement", "Baseline", "BeirScores", "BeirSet", "Comparison",
           "Difference", "Evaluation", "Failure", "Gold", "GoldQuote", "Mean", "Outcome", "Overlap", "Question",
           "RefusalMatrix", "ScoreGroup", "Scorecard", "Span", "Sweep", "Verdict", "answer_metrics",
           "attribute_failures", "bootstrap_interval", "characters_read", "check_gate", "cohen_kappa", "compare",
           "evaluate", "evaluate_beir", "exact_match", "find_giveaways", "found_groups", "gold_coverage", "gold_spans",
           "judge_agreement", "load_baseline", "load_beir", "load_questions", "mean", "metrics", "number_match",
           "paired_difference", "questions_needed", "randomisation_test", "rank", "recall_at_k", "span_metrics",
           "sweep", "token_f1", "token_recall", "word_overlap"]
