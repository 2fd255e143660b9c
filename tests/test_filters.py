"""Filters at the door, versions, readers; select_documents against a slow reference."""

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ragkit.filters import RetrievalFilters, may_read, select_documents, version_order
from tests.fixtures import day, document


@pytest.mark.parametrize("bad", ["2025-9-1", "20250901", "2025-09-01T00:00:00", "01.09.2025", "2025-13-01", "2025-02-30",
                                 "", " 2025-09-01", "２０２５-09-01", 20250901, 1.5, True, datetime.datetime(2025, 9, 1)])
def test_dates_are_dates(bad):
    with pytest.raises(ValueError, match="effective_before"):
        RetrievalFilters(effective_before=bad)


def test_a_date_is_read_from_text_or_given():
    assert RetrievalFilters(effective_before="2025-09-01") == RetrievalFilters(effective_before=day("2025-09-01"))
    assert RetrievalFilters(effective_after="0001-01-01").effective_after == datetime.date.min


@pytest.mark.parametrize("bad", ["", "  ", [], ["travel", ""], [1], 5, {"travel": 1}, [None], b"travel"])
def test_names_are_names(bad):
    with pytest.raises(ValidationError, match="topic"):
        RetrievalFilters(topic=bad)


def test_filters_are_values():
    one, two = RetrievalFilters(topic=["b", "a", "b"]), RetrievalFilters(topic={"a", "b"})
    assert one == two and hash(one) == hash(two) and one.topic == ("a", "b")
    assert RetrievalFilters(topic="a").topic == ("a",)
    assert RetrievalFilters(topic="a", effective_before="2025-01-01").active() == {
        "topic": ("a",), "effective_before": day("2025-01-01")}
    assert RetrievalFilters().active() == {}
    with pytest.raises(ValidationError):
        one.topic = ("c",)
    with pytest.raises(ValidationError, match="topics"):
        RetrievalFilters(topics="a")


def names(selection):
    return {f"{key.id}{key.version}" for key in selection.allowed}


def reasons(selection):
    return {f"{key.id}{key.version}": reason for key, reason in selection.excluded.items()}


POLICY = [document("p", version="1", date="2023-01-01"), document("p", version="2", date="2024-01-01"),
          document("p", version="3", date="2025-01-01")]


def test_the_newest_version_is_searched_and_the_others_are_superseded():
    selection = select_documents(POLICY)
    assert names(selection) == {"p3"}
    assert reasons(selection) == {"p1": "superseded", "p2": "superseded"}


@pytest.mark.parametrize(("on", "wanted"), [
    ("2025-01-01", "p3"), ("2024-12-31", "p2"), ("2024-01-01", "p2"), ("2023-12-31", "p1"), ("2030-01-01", "p3")])
def test_effective_before_is_inclusive_and_takes_what_was_in_force(on, wanted):
    selection = select_documents(POLICY, RetrievalFilters(effective_before=on))
    assert names(selection) == {wanted}
    later = {f"p{document_.version}" for document_ in POLICY if document_.effective_date > day(on)}
    assert reasons(selection) == {name: "effective_before" if name in later else "superseded"
                                  for name in {"p1", "p2", "p3"} - {wanted}}


def test_before_the_first_version_there_is_nothing():
    selection = select_documents(POLICY, RetrievalFilters(effective_before="2022-12-31"))
    assert names(selection) == set()
    assert set(reasons(selection).values()) == {"effective_before"}


def test_a_document_without_the_field_does_not_pass_a_filter_on_it():
    undated = document("u")
    for filters, reason in ((RetrievalFilters(effective_before="2030-01-01"), "effective_before"),
                            (RetrievalFilters(effective_after="1990-01-01"), "effective_after"),
                            (RetrievalFilters(topic="travel"), "topic")):
        assert reasons(select_documents([undated], filters)) == {"u1": reason}
    assert names(select_documents([undated])) == {"u1"}


def test_effective_after_is_inclusive_and_of_the_newest():
    assert names(select_documents(POLICY, RetrievalFilters(effective_after="2025-01-01"))) == {"p3"}
    selection = select_documents(POLICY, RetrievalFilters(effective_after="2025-01-02"))
    assert reasons(selection) == {"p1": "superseded", "p2": "superseded", "p3": "effective_after"}


def test_versions_are_in_natural_order_after_the_date():
    def newest(*versions, **more):
        return names(select_documents([document("p", version=version, **more) for version in versions]))

    assert newest("9", "10") == newest("10", "9") == {"p10"}
    assert newest("1.9", "1.10", "1.2") == {"p1.10"}
    assert newest("2024-12", "2025-02") == {"p2025-02"}
    late, early = document("p", version="1", date="2025-01-01"), document("p", version="9", date="2024-01-01")
    assert names(select_documents([late, early])) == {"p1"}, "the date comes before the version"
    assert names(select_documents([document("p", version="9"), late])) == {"p1"}, "undated is older than any dated"
    keys = [version_order(document("p", version=version)) for version in ("1", "a", "1.a", "1.0", "v2", "2b", "-", "٣")]
    assert sorted(keys) == sorted(reversed(keys)), "every pair of versions compares"


def test_an_older_version_passes_a_filter_only_if_it_is_the_one_in_force():
    moved = [document("p", version="1", date="2024-01-01", topic="old"),
             document("p", version="2", date="2025-01-01", topic="new")]
    assert names(select_documents(moved, RetrievalFilters(topic="old"))) == set()
    then = RetrievalFilters(topic="old", effective_before="2024-06-01")
    assert names(select_documents(moved, then)) == {"p1"}


def test_readers():
    staff, both = document("s", audience={"staff"}), document("b", audience={"staff", "public"})
    assert not may_read(staff, set()) and may_read(staff, {"staff"}) and may_read(both, set())
    assert not may_read(staff, {"STAFF"}) and not may_read(staff, {"staf", "f"})
    selection = select_documents([staff, both])
    assert names(selection) == {"b1"} and {key.id for key in selection.hidden} == {"s"}
    assert reasons(selection) == {}, "what is hidden is no reason"


def test_an_outsider_has_the_newest_version_that_they_may_read():
    draft = document("p", version="4", date="2026-01-01", audience={"board"})
    assert names(select_documents([*POLICY, draft])) == {"p3"}
    assert names(select_documents([*POLICY, draft], reader={"board"})) == {"p4"}


dates = st.none() | st.sampled_from(["2024-01-01", "2024-06-01", "2025-01-01"])
pool = st.lists(st.builds(
    lambda id_, version, date, topic, audience: document(id_, version=version, date=date, topic=topic,
                                                         audience=audience),
    st.sampled_from("ab"), st.sampled_from(["1", "2", "10"]), dates, st.sampled_from([None, "x", "y"]),
    st.sampled_from([{"public"}, {"staff"}, {"staff", "board"}])), max_size=8,
    unique_by=lambda document_: document_.key)
narrowing = st.builds(RetrievalFilters, topic=st.sampled_from([None, "x", ("x", "y")]),
                      document_id=st.sampled_from([None, "a"]), effective_before=dates, effective_after=dates)


def slow_reference(documents, filters, reader):
    """Document by document, from the words of the design: is there a better version that counts?"""
    def counts(one):
        return ("public" in one.audience or any(group in reader for group in one.audience)) and (
            filters.effective_before is None
            or one.effective_date is not None and one.effective_date <= filters.effective_before)

    def newer(one, other):
        days = [document_.effective_date or datetime.date(1, 1, 1) for document_ in (one, other)]
        return days[0] > days[1] or days[0] == days[1] and int(one.version) > int(other.version)

    for one in documents:
        if counts(one) and not any(other.id == one.id and counts(other) and newer(other, one) for other in documents):
            fits = ((filters.topic is None or one.topic in filters.topic)
                    and (filters.document_id is None or one.id in filters.document_id)
                    and (filters.effective_after is None
                         or one.effective_date is not None and one.effective_date >= filters.effective_after))
            if fits:
                yield one.key


@given(pool, narrowing, st.sampled_from([frozenset(), frozenset({"staff"}), frozenset({"board", "other"})]))
@settings(max_examples=300, deadline=None)
def test_selection_agrees_with_a_slow_reference(documents, filters, reader):
    selection = select_documents(documents, filters, reader)
    assert selection.allowed == set(slow_reference(documents, filters, reader))
    everything = {document_.key for document_ in documents}
    assert selection.allowed | selection.excluded.keys() | selection.hidden == everything
    assert len(selection.allowed) + len(selection.excluded) + len(selection.hidden) == len(everything)
    assert select_documents(documents[::-1], filters, reader) == selection, "the order of documents is nothing"
    visible = [document_ for document_ in documents if document_.key not in selection.hidden]
    without = select_documents(visible, filters, reader)
    assert (without.allowed, without.excluded) == (selection.allowed, selection.excluded)


def test_an_unknown_filter_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="there is no filter 'topics'; the filters are topic, document_id, effective_b"):
        RetrievalFilters(topics="travel")
