"""Why nothing was answered (chapters 03 and 05)."""

from enum import StrEnum


class RefusalReason(StrEnum):
    """The typed reason of a refusal, in order of precedence: the first that applies is given.

    A reader never sees ``NOT_PERMITTED``: what a reader may not see does not exist for them. It stands
    in the operator's trace only.
    """

    BACKEND_UNAVAILABLE = "backend_unavailable"
    NO_CANDIDATES = "no_candidates"
    FILTERED_OUT = "filtered_out"
    BELOW_THRESHOLD = "below_threshold"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    NOT_PERMITTED = "not_permitted"
