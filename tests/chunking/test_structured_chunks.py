"""Tables, code, headings and levels: what chunks keep together, and what travels in the prefix."""

import pytest

from ragkit.chunking import Chunk, FixedChunker, HeadingChunker, HierarchicalChunker, SentenceChunker, leaves
from ragkit.documents import Document, Heading


def document(text):
    return Document(id="travel", title="Travel Policy", text=text, version="2")


def texts(chunker, text):
    return [chunk.text for chunk in chunker.chunk(document(text))]


# Tables and code

ROWS = [f"| Grade {n} | {n}00 euros |" for n in range(1, 7)]
TABLE = "\n".join(["| Grade | Cap |", "|---|---|", *ROWS])


def test_a_table_that_fits_is_not_cut():
    text = f"The caps are as follows. They hold for all.\n{TABLE}\nAsk if in doubt."
    assert len(TABLE) == 169
    assert texts(SentenceChunker(size=180), text) == [
        "The caps are as follows. They hold for all.",
        TABLE,
        "Ask if in doubt.",
    ]


def test_a_long_table_is_cut_between_rows_and_its_header_travels():
    chunks = SentenceChunker(size=80).chunk(document(f"## Hotels\n{TABLE}\n"))
    assert [chunk.text for chunk in chunks] == [
        "\n".join(["## Hotels\n| Grade | Cap |\n|---|---|", ROWS[0]]),
        "\n".join(ROWS[1:4]),
        "\n".join(ROWS[4:]),
    ]
    assert [chunk.prefix for chunk in chunks] == [
        "Travel Policy > Hotels",
        "Travel Policy > Hotels\n| Grade | Cap |",
        "Travel Policy > Hotels\n| Grade | Cap |",
    ]
    assert chunks[1].embedded_text == "Travel Policy > Hotels\n| Grade | Cap |\n" + chunks[1].text


def test_a_header_is_not_parted_from_its_first_row():
    first = "| Grade | Cap |\n|---|---|\n" + ROWS[0]
    assert texts(SentenceChunker(size=50), f"Hi.\n{TABLE}")[:2] == ["Hi.", first]


def test_the_closing_line_of_code_is_not_left_alone():
    code = "```\nx = 1234\ny = 5678\n```"
    assert texts(SentenceChunker(size=22), code) == ["```\nx = 1234", "y = 5678\n```"]


def test_a_header_that_is_cut_itself_still_travels():
    text = "  | Grade of the traveller | Cap for one night |\n  |---|---|\n  | A | 1 |\n"
    chunks = SentenceChunker(size=30).chunk(document(text))
    header = "| Grade of the traveller | Cap for one night |"
    assert [(chunk.text, chunk.prefix) for chunk in chunks] == [
        ("| Grade of the traveller |", "Travel Policy"),
        ("Cap for one night |", f"Travel Policy\n{header}"),
        ("|---|---|\n  | A | 1 |", f"Travel Policy\n{header}"),
    ]


def test_a_row_that_is_too_long_is_cut_between_cells():
    text = "| A | B |\n|---|---|\n| one two three four | five six seven eight |\n"
    assert texts(SentenceChunker(size=30), text) == [
        "| A | B |\n|---|---|",
        "| one two three four |",
        "five six seven eight |",
    ]


def test_a_header_of_thousands_of_characters_is_not_repeated():
    text = f"| {'x' * 3000} | B |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    assert {chunk.prefix for chunk in SentenceChunker(size=20).chunk(document(text))} == {"Travel Policy"}


def test_code_is_cut_between_lines_and_its_opening_line_travels():
    lines = [f"    x = {n}  # not. a sentence" for n in range(6)]
    text = "Run this:\n\n```python\n" + "\n".join(lines) + "\n```\n"
    chunks = SentenceChunker(size=100).chunk(document(text))
    assert [chunk.text for chunk in chunks] == [
        "\n".join(["Run this:\n\n```python", *lines[:2]]),
        "\n".join(lines[2:5]),
        lines[5] + "\n```",
    ]
    below = "Travel Policy\n```python"
    assert [chunk.prefix for chunk in chunks] == ["Travel Policy", below, below]


def test_code_that_fits_is_not_cut():
    code = "```\n# no heading. Nor two sentences.\n\nx = 1\n```"
    text = f"# Use\n\nSome words before the code.\n\n{code}\n\nAnd after."
    assert texts(HeadingChunker(size=60), text) == [
        "# Use\n\nSome words before the code.",
        f"{code}\n\nAnd after.",
    ]


# Headings and prefixes


def test_no_heading_is_lost():
    text = "# Header 1\nContent 1.\n# Header 2\n"
    assert texts(HeadingChunker(), text) == ["# Header 1\nContent 1.", "# Header 2"]


def test_text_before_the_first_heading_is_a_section():
    assert texts(HeadingChunker(), "Before.\n\n# A\n\nIn A.\n") == ["Before.", "# A\n\nIn A."]


def test_heading_paths():
    chunks = HeadingChunker().chunk(document("intro\n# A\n### B\n### C\n## 24/7 Support\ntext\n# D"))
    assert [chunk.heading_path for chunk in chunks] == [
        (),
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("A", "24/7 Support"),
        ("D",),
    ]
    assert chunks[0].prefix == "Travel Policy"
    assert chunks[4].prefix == "Travel Policy > A > 24/7 Support"


def test_a_long_section_is_cut_at_paragraphs_first():
    text = "# A\n\nOne two three. Four five six.\n\nSeven eight. Nine ten eleven."
    assert texts(HeadingChunker(size=50), text) == [
        "# A\n\nOne two three. Four five six.",
        "Seven eight. Nine ten eleven.",
    ]


def test_headings_given_with_the_document_are_used():
    text = "Scope\nAll staff.\n\n```\nCode\n```\nEnd."
    given = (Heading(1, "Scope", 0, 6), Heading(1, "Code", text.index("Code"), text.index("Code") + 5))
    scanned = Document(id="d", title="T", text=text, headings=given)
    assert [chunk.text for chunk in HeadingChunker().chunk(scanned)] == [text]
    assert HeadingChunker().chunk(scanned)[0].heading_path == ("Scope",)


def test_the_title_is_not_said_twice():
    chunk = HeadingChunker().chunk(document("# Travel Policy\n## Hotels\nBook early."))[1]
    assert chunk.prefix == "Travel Policy > Hotels"
    assert chunk.heading_path == ("Travel Policy", "Hotels")


@pytest.mark.parametrize("chunker", [FixedChunker, SentenceChunker, HeadingChunker, HierarchicalChunker])
def test_the_prefix_can_be_left_out(chunker):
    for chunk in chunker(with_prefix=False).chunk(document(f"# A\n\n{TABLE}")):
        assert chunk.prefix == ""
        assert chunk.embedded_text == chunk.text
        assert chunk.heading_path == ("A",)


def test_a_document_without_a_title_has_no_empty_step():
    untitled = Document(id="d", title="", text="text\n# A\nmore")
    assert [chunk.prefix for chunk in HeadingChunker().chunk(untitled)] == ["", "A"]


# Hierarchy


def test_three_levels():
    section = "## Part {}\n\n" + "This sentence has thirty-five signs. " * 20
    text = "# All\n\n" + "\n\n".join(section.format(n) for n in range(1, 5))
    chunks = HierarchicalChunker().chunk(document(text))
    levels = {level: [chunk for chunk in chunks if chunk.level == level] for level in (1, 2, 3)}
    first_lines = [chunk.text.partition("\n")[0] for chunk in levels[1]]
    assert first_lines == ["# All", "## Part 2", "## Part 3", "## Part 4"]
    assert all(chunk.id.startswith(f"travel@2:L{chunk.level}:") for chunk in chunks)
    assert {chunk.parent_id for chunk in levels[2]} == {chunk.id for chunk in levels[1]}
    assert {chunk.parent_id for chunk in levels[3]} == {chunk.id for chunk in levels[2]}
    assert leaves(chunks) == levels[3]


def test_small_sections_are_packed_together_and_cut_at_headings():
    text = "".join(f"## Part {n}\n\n" + "Some words here. " * 5 + "\n\n" for n in range(6))
    parents = [c for c in HierarchicalChunker(sizes=(250, 80)).chunk(document(text)) if c.level == 1]
    assert [chunk.text.count("##") for chunk in parents] == [2, 2, 2]
    assert all(chunk.text.startswith("## Part") for chunk in parents)


def test_higher_headings_are_better_places_than_later_ones():
    text = "# A\n\nSome words are here.\n\n# B\n\nOne.\n\n## C\n\nSome more of these words."
    assert [part[:3] for part in texts(HierarchicalChunker(sizes=(50,)), text)] == ["# A", "# B"]


def test_an_item_is_a_better_place_than_a_later_sentence():
    text = "- One two three four.\n- Five six. Seven eight nine."
    assert texts(HeadingChunker(size=40), text) == ["- One two three four.", "- Five six. Seven eight nine."]


def test_leaves_of_flat_chunks_are_all_of_them():
    chunks = SentenceChunker(size=12).chunk(document("One two. Three four. Five."))
    assert leaves(iter(chunks)) == chunks
    assert isinstance(chunks[0], Chunk)
