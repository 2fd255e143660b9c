"""Where a piece may be cut."""

from hypothesis import given
from hypothesis import strategies as st

from ragkit.context.units import cut_units


def shown(text: str, prefix: str = "") -> list[tuple[str, str, bool]]:
    return [(text[unit.start:unit.end], unit.header, unit.opens) for unit in cut_units(text, prefix)]


def test_sentences_headings_and_what_opens_something():
    assert shown("# Title\n\n**Food.** Foxes eat mice. Bring:\n\n- a badge\n- 狐狸。猫头鹰：\n") == [
        ("# Title", "", True), ("**Food.**", "", True), ("Foxes eat mice.", "", False), ("Bring:", "", True),
        ("- a badge", "", False),
        ("- 狐狸。", "", False), ("猫头鹰：", "", True)]


def test_rows_bring_the_header_row_and_lines_of_code_the_opening_line():
    assert shown("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n") == [
        ("| a | b |\n|---|---|", "", True), ("| 1 | 2 |", "| a | b |", False), ("| 3 | 4 |", "| a | b |", False)]
    assert shown("```py\nx = 1\n\n  y = 2\n```") == [
        ("```py", "", True), ("x = 1", "```py", False), ("  y = 2", "```py", False), ("```", "```py", False)]


def test_a_piece_that_begins_inside_a_table_or_code_goes_on_with_it():
    assert shown("| 1 | 2 |\n| 3 | 4 |\n\nAfter it.", "| a \\| b | c |") == [
        ("| 1 | 2 |", "| a \\| b | c |", False), ("| 3 | 4 |", "| a \\| b | c |", False), ("After it.", "", False)]
    assert shown("x = 1\nif x: y()\n```\nAfter it.", "```py") == [
        ("x = 1", "```py", False), ("if x: y()", "```py", False), ("```", "```py", False), ("After it.", "", False)]


PARTS = st.sampled_from(["# T\n", "One. Two! ", "| a |\n|---|\n| 1 |\n", "```\nx\n", "~~~", "\n\n", "狐狸。",
                         "\u2028", " ", "a:"])


@given(st.lists(PARTS | st.text(max_size=5), max_size=10).map("".join),
       st.sampled_from(["", "| a | b |", "```py", "a | b"]))
def test_units_are_in_order_and_hold_all_that_is_not_blank(text, prefix):
    units = cut_units(text, prefix)
    edges = [0, *(place for unit in units for place in (unit.start, unit.end)), len(text)]
    assert edges == sorted(edges)
    assert all(text[unit.start:unit.end].strip() for unit in units)
    assert not "".join(text[end:start] for end, start in zip(edges[::2], edges[1::2], strict=True)).strip()
