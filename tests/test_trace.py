"""The trace prints, shows itself, and goes to JSON."""

import dataclasses
import json

import pytest

from ragkit.trace import Drop, LinkTrace, Trace, timed

TRACE = Trace((
    LinkTrace("filter", 10, 7, excluded=(("superseded", 2), ("topic", 1)), milliseconds=0.5),
    LinkTrace("select", 3, 1, drops=(Drop("<b>@1", "<b>", 0.2, "below_threshold", "min_score 0.25"),
                                     Drop("c@1", "c", None, "below_threshold")), notes=("a <note>",))))


def test_text():
    text = str(TRACE)
    assert "superseded 2, topic 1" in text and "below_threshold 2" in text
    assert "<b>@1 at 0.200: below_threshold (min_score 0.25)" in text
    assert "c@1: below_threshold" in text and "note: a <note>" in text
    assert str(Trace()).startswith("link")


def test_html_is_escaped():
    shown = TRACE._repr_html_()
    assert "<b>@1" not in shown and "&lt;b&gt;@1" in shown and "a &lt;note&gt;" in shown
    assert shown.count("<tr>") == 3


def test_json():
    plain = json.loads(json.dumps(TRACE.to_dict()))["links"]
    assert plain[0]["excluded"] == {"superseded": 2, "topic": 1}
    assert plain[1]["drops"][0] == {"chunk_id": "<b>@1", "document_id": "<b>", "score": 0.2,
                                    "reason": "below_threshold", "detail": "min_score 0.25"}
    assert plain[1]["drops"][1]["score"] is None, "None is not 0"


def test_milliseconds_take_no_part_in_equality():
    slower = Trace(tuple(dataclasses.replace(entry, milliseconds=99.0) for entry in TRACE.links))
    assert slower == TRACE and hash(slower) == hash(TRACE)
    assert Trace(TRACE.links[:1]) != TRACE


def test_links_are_found_by_name():
    assert TRACE["select"].count_out == 1
    with pytest.raises(KeyError, match="no link 'rerank' ran; these did: filter, select"):
        TRACE["rerank"]


def test_timed():
    result, milliseconds = timed(lambda a, b: a + b, 1, b=2)
    assert result == 3 and milliseconds >= 0


def test_the_short_form_names_the_links_and_holds_no_score():
    trace = Trace((LinkTrace("recall", 20, 8, excluded=(("not_in_top_k", 12),)), LinkTrace("select", 8, 4)))
    assert repr(trace) == "Trace(recall 20 -> 8, select 8 -> 4)"
