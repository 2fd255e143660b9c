"""When to answer and when not: typed reasons, calibrated thresholds, graded evidence (chapter 05)."""

from importlib import import_module
from typing import TYPE_CHECKING

from ragkit.refusal.reasons import RefusalReason

if TYPE_CHECKING:
    from ragkit.refusal.calibration import Calibration, Interval, Report, calibrate, share_interval
    from ragkit.refusal.grading import (
        EvidenceGrader,
        Grade,
        LlmGrader,
        MalformedVerdict,
        Signal,
        SignalGrader,
        grade_evidence,
    )
    from ragkit.refusal.objectives import (
        MaxF1,
        MinCost,
        MinCoverage,
        MinPrecision,
        MinRecall,
        Objective,
        ObjectiveNotReached,
    )
    from ragkit.refusal.outcomes import Outcomes

# Loaded at first use: the retrieval chain needs the reasons alone.
_HOME = {
    "calibration": ("Calibration", "Interval", "Report", "calibrate", "share_interval"),
    "grading": ("EvidenceGrader", "Grade", "LlmGrader", "MalformedVerdict", "Signal", "SignalGrader",
                "grade_evidence"),
    "objectives": ("MaxF1", "MinCost", "MinCoverage", "MinPrecision", "MinRecall", "Objective", "ObjectiveNotReached"),
    "outcomes": ("Outcomes",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["Calibration", "EvidenceGrader", "Grade", "Interval", "LlmGrader", "MalformedVerdict", "MaxF1", "MinCost",
           "MinCoverage", "MinPrecision", "MinRecall", "Objective", "ObjectiveNotReached", "Outcomes", "RefusalReason",
           "Report", "Signal", "SignalGrader", "calibrate", "grade_evidence", "share_interval"]


def __getattr__(name: str) -> object:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
