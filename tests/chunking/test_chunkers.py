import pytest

from ragkit.chunking import FixedChunker, HeadingChunker, HierarchicalChunker, SentenceChunker, leaves
from ragkit.documents import Document

ALL = [FixedChunker, SentenceChunker, HeadingChunker, HierarchicalChunker]


def document(text):
    return Document(id="travel", title="Travel Policy", text=text, version="2")


def texts(chunker, text):
    return [chunk.text for chunk in chunker.chunk(document(text))]


def spans(chunker, text):
    return [(chunk.start, chunk.end) for chunk in chunker.chunk(document(text))]


# Refusals


@pytest.mark.parametrize("chunker", [FixedChunker, SentenceChunker])
@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [
        (5, 5, r"overlap \(5\) must be smaller than size \(5\)"),
        (50, 60, r"overlap \(60\) must be smaller than size \(50\)"),
        (5, -1, r"overlap \(-1\) must be at least 0"),
        (5, 1.5, r"overlap must be a whole number, got 1.5"),
        (0, 0, r"size \(0\) must be at least 1"),
        (-3, 0, r"size \(-3\) must be at least 1"),
        (2.5, 0, r"size must be a whole number, got 2.5"),
        ("250", 0, r"size must be a whole number, got '250'"),
        (True, 0, r"size must be a whole number, got True"),
    ],
)
def test_settings_that_cannot_work_are_refused(chunker, size, overlap, message):
    with pytest.raises(ValueError, match=message):
        chunker(size=size, overlap=overlap)


def test_heading_size_is_checked():
    with pytest.raises(ValueError, match=r"size \(0\) must be at least 1"):
        HeadingChunker(size=0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((600, 600, 250), r"sizes must get smaller from level to level, got \(600, 600, 250\)"),
        ((250, 600), r"sizes must get smaller from level to level, got \(250, 600\)"),
        ((600, 0), r"size \(0\) must be at least 1"),
        ((600, None), r"size must be a whole number, got None"),
        ((), r"sizes must name at least one level"),
    ],
)
def test_sizes_that_cannot_work_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        HierarchicalChunker(sizes=sizes)


# Any chunker


@pytest.mark.parametrize("chunker", ALL)
@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u3000\n"])
def test_a_blank_document_has_no_chunks(chunker, text):
    assert chunker().chunk(document(text)) == []


@pytest.mark.parametrize("chunker", ALL)
def test_a_short_document_is_one_chunk_a_level(chunker):
    chunks = chunker().chunk(document("Book early."))
    assert {chunk.text for chunk in chunks} == {"Book early."}
    assert len(leaves(chunks)) == 1
    first = chunks[0]
    assert first.id == "travel@2:L1:0-11"
    assert (first.document_id, first.version, first.level, first.parent_id) == ("travel", "2", 1, None)


@pytest.mark.parametrize("chunker", ALL)
def test_one_long_line_without_separators_is_cut_hard(chunker):
    made = chunker()
    size = made.sizes[-1] if chunker is HierarchicalChunker else made.size
    lengths = [len(chunk.text) for chunk in leaves(made.chunk(document("x" * 5000)))]
    assert max(lengths) == size
    assert sum(lengths) >= 5000


@pytest.mark.parametrize("text", ["e\u0301" * 40, "👍🏽" * 40, "👩\u200d👧" * 40])
@pytest.mark.parametrize(
    "chunker",
    [
        FixedChunker(5, 0),
        FixedChunker(5, 3),
        SentenceChunker(5),
        HeadingChunker(5),
        HierarchicalChunker((8, 5)),
    ],
)
def test_a_letter_keeps_its_marks(chunker, text):
    assert {chunk.text[0] for chunk in chunker.chunk(document(text))} == {text[0]}


def test_more_marks_than_fit_are_cut_all_the_same():
    assert max(map(len, texts(SentenceChunker(size=10), "e" + "\u0301" * 100))) == 10


# Fixed size


def test_fixed_with_overlap_ends_with_the_text():
    assert texts(FixedChunker(size=5, overlap=2), "abcdefghij") == ["abcde", "defgh", "ghij"]


def test_fixed_with_the_largest_overlap():
    chunks = FixedChunker(size=5, overlap=4).chunk(document("chunk chunk"))
    assert [chunk.start for chunk in chunks] == [0, 1, 2, 3, 4, 5, 6]
    assert chunks[-1].text == "chunk"


def test_fixed_cuts_through_words_and_leaves_out_blank_pieces():
    text = "Book early\n\n          now.  \n"
    assert texts(FixedChunker(size=4, overlap=0), text) == ["Book", " ear", "ly\n\n", "  no", "w.  "]


def test_fixed_in_tokens():
    words = FixedChunker(size=3, overlap=1, measure=lambda text: len(text.split()))
    assert [text.strip() for text in texts(words, "a b c d e f g")] == ["a b c", "c d e", "e f g"]


def test_fixed_overlap_is_never_longer_than_asked_for():
    def x_counts_three(text):
        return len(text) + 2 * text.count("x")

    assert texts(FixedChunker(size=4, overlap=1, measure=x_counts_three), "abxcd") == ["ab", "bx", "cd"]


# Measures under which a shorter text may be the longer one, as tokens can be


def test_a_softer_place_is_not_taken_if_it_breaks_the_size():
    text = "ae\u0301\u0301b"
    chunker = FixedChunker(size=3, overlap=0, measure=lambda part: {"a": 9}.get(part, len(part)))
    assert texts(chunker, text) == ["ae\u0301", "\u0301b"]


def test_a_better_cut_is_not_taken_if_it_breaks_the_size():
    text = "A1. B2. C3.\n\nD4. E5 is long."
    assert texts(HeadingChunker(size=18), text) == ["A1. B2. C3.", "D4. E5 is long."]
    chunker = HeadingChunker(size=18, measure=lambda part: {"A1. B2. C3.": 99}.get(part, len(part)))
    assert texts(chunker, text) == ["A1. B2. C3.\n\nD4.", "E5 is long."]


# Sentences


def test_sentences_are_packed_whole():
    text = "One two three. Four five. Six seven eight nine. Ten."
    assert texts(SentenceChunker(size=26), text) == [
        "One two three. Four five.",
        "Six seven eight nine. Ten.",
    ]


def test_sentence_overlap_is_whole_sentences():
    text = "One two three. Four five. Six seven. Eight nine. Ten."
    assert texts(SentenceChunker(size=26, overlap=12), text) == [
        "One two three. Four five.",
        "Four five. Six seven.",
        "Six seven. Eight nine.",
        "Eight nine. Ten.",
    ]


def test_the_same_sentence_six_times_has_six_starts():
    text = "Book early. " * 6
    assert spans(SentenceChunker(size=12), text) == [(12 * n, 12 * n + 11) for n in range(6)]
    assert spans(SentenceChunker(size=24, overlap=12), text) == [(12 * n, 12 * n + 23) for n in range(5)]


def test_a_long_sentence_is_cut_at_clauses_then_words():
    text = "Ask your manager, who asks the office, before you book a hotel room anywhere else"
    assert texts(SentenceChunker(size=40), text) == [
        "Ask your manager, who asks the office,",
        "before you book a hotel room anywhere",
        "else",
    ]


def test_a_long_chinese_sentence_is_cut_at_its_commas():
    text = "员工出差前应当提交申请，经部门经理批准后，方可预订机票、酒店。"
    assert texts(SentenceChunker(size=22), text) == ["员工出差前应当提交申请，经部门经理批准后，", "方可预订机票、酒店。"]


def test_the_overlap_does_not_begin_inside_a_sentence():
    text = "Ask your manager, who asks the office, who knows, before you book a hotel."
    assert texts(SentenceChunker(size=50, overlap=30), text) == [
        "Ask your manager, who asks the office, who knows,",
        "before you book a hotel.",
    ]


def test_sentences_are_packed_across_sections():
    text = "One two three four five.\n\n# H\n\nSix seven. Eight nine."
    assert texts(SentenceChunker(size=42), text)[0] == "One two three four five.\n\n# H\n\nSix seven."
    assert texts(HierarchicalChunker((42,)), text)[0] == "One two three four five."


def test_a_heading_moves_even_from_a_chunk_that_is_left_short():
    text = "Hi.\n# A heading of some length\nThen a sentence of its own."
    assert texts(SentenceChunker(size=55), text) == ["Hi.", text[4:]]


def test_a_heading_stays_with_its_text():
    text = "The first paragraph has some words.\n\n## Hotels\n\nBook them early, please."
    assert texts(SentenceChunker(size=50), text) == [
        "The first paragraph has some words.",
        "## Hotels\n\nBook them early, please.",
    ]


def test_a_sentence_that_announces_a_list_stays_with_it():
    text = "Some words stand here. These are paid:\n- the train\n- the hotel"
    assert texts(SentenceChunker(size=40), text) == [
        "Some words stand here.",
        "These are paid:\n- the train\n- the hotel",
    ]
