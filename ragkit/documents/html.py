"""HTML to text: what a reader of the page reads, with headings, lists, tables and code as Markdown."""

import re

from bs4 import BeautifulSoup, NavigableString, Tag

from ragkit.documents.markup import fence, heading, join_blocks, list_item, plain, table

_DROPPED = frozenset(
    "script style noscript template head nav footer aside svg iframe object canvas audio video "
    "button select input textarea dialog datalist".split()
)
_BLOCKS = frozenset(
    "address article body center details dd div dl dt fieldset figcaption figure form header hgroup hr html "
    "legend main p section summary caption".split()
)
_HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DROPPED_ROLES = frozenset(["navigation", "contentinfo", "complementary", "search", "menu", "dialog"])
_INVISIBLE = re.compile("[\u00ad\u200b\ufeff]")  # where a word may be cut; they would split it for a search
_LIST_MARKER = re.compile(r"(?m)^ *(?:-|\d+\.) ")
_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_LARGEST_SPAN = 100  # of a table cell; browsers take 1,000, more is a mistake or an attack


def html_to_text(markup: str) -> tuple[str, str]:
    """The text of a page and its <title> ("" without one).

    Of a page with <main>, or with exactly one <article>, only that part is read. Scripts, styles, navigation,
    footers, asides, form controls and hidden elements never become text.
    """
    soup = BeautifulSoup(markup, "lxml")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for part in (*_main_parts(soup), soup):
        writer = _Writer()
        writer.walk(part)
        text = writer.finish()
        if text:
            return text, title
    return "", title


def _main_parts(soup: BeautifulSoup) -> list[Tag]:
    main = soup.find("main") or soup.find(attrs={"role": "main"})
    articles = soup.find_all("article", limit=2)
    return [main] if main else articles if len(articles) == 1 else []


class _Writer:
    """Walks a tree and collects blocks; inline text gathers until a block begins or ends."""

    def __init__(self, escape: bool = True):
        self.escape = escape
        self.blocks: list[str] = []
        self.inline: list[str] = []

    def finish(self) -> str:
        self.flush()
        return join_blocks(self.blocks)

    def flush(self) -> None:
        text = re.sub(" *\n *", "\n", re.sub(" {2,}", " ", "".join(self.inline))).strip()
        self.inline.clear()
        if text:
            self.blocks.append(plain(text) if self.escape else text)

    def add(self, block: str) -> None:
        self.flush()
        self.blocks.append(block)

    def walk(self, node: Tag) -> None:
        for child in node.children:
            if isinstance(child, Tag):
                self.element(child)
            elif type(child) is NavigableString:  # its subclasses are comments, doctypes and the like
                # All white space is one space here, so a line break in a paragraph can only come from <br>.
                self.inline.append(_SPACE.sub(" ", _INVISIBLE.sub("", child)))

    def element(self, tag: Tag) -> None:
        name = tag.name
        if _is_dropped(tag):
            return
        if name in _HEADINGS:
            title = _text(tag)
            if title:
                self.add(heading(int(name[1]), title))
        elif name == "pre":
            code = tag.get_text().strip("\n")
            if code.strip():
                self.add(fence(code, _language(tag)))
        elif name == "table":
            self.table(tag)
        elif name in ("ul", "ol", "menu"):
            self.add(_list(tag))
        elif name == "blockquote":
            quoted = _inner(tag)
            self.add("\n".join(f"> {line}".rstrip() for line in quoted.split("\n")) if quoted else "")
        elif name == "br":
            self.inline.append("\n")
        elif name == "a" and tag.get_text(strip=True) in ("¶", "#", "§"):
            pass  # a link to the heading itself, as documentation generators add it
        elif name in _BLOCKS or name == "li":
            self.flush()
            self.walk(tag)
            self.flush()
        else:
            self.walk(tag)

    def table(self, tag: Tag) -> None:
        if tag.find(["table", "pre", *_HEADINGS]):  # a table for layout: its cells are parts of the page
            for cell in _rows_of(tag):
                for part in cell:
                    self.flush()
                    self.walk(part)
            self.flush()
            return
        caption = tag.find("caption")
        if caption:
            self.add(plain(_text(caption)))
        self.add(table(_grid(tag)))


def _inner(tag: Tag) -> str:
    writer = _Writer()
    writer.walk(tag)
    return writer.finish()


def _text(tag: Tag) -> str:
    """The text of a tag as one line; the items of a list in it are separated by semicolons."""
    writer = _Writer(escape=False)
    writer.walk(tag)
    blocks = [_LIST_MARKER.sub("; ", block).removeprefix("; ") for block in writer.finish().split("\n\n")]
    return " ".join(" ".join(blocks).split()).replace(" ; ", "; ")


def _is_dropped(tag: Tag) -> bool:
    hidden = tag.has_attr("hidden") or _HIDDEN_STYLE.search(str(tag.get("style", "")))
    return bool(hidden) or tag.name in _DROPPED or tag.get("role") in _DROPPED_ROLES


def _language(pre: Tag) -> str:
    for tag in (pre, *pre.find_all("code", limit=1)):
        for name in tag.get("class") or ():
            found = re.fullmatch(r"(?:language|lang|highlight-source)-([\w+#.-]+)", name)
            if found:
                return found[1]
    return ""


def _list(tag: Tag) -> str:
    number = int(tag["start"]) if str(tag.get("start", "")).isdecimal() else 1
    lines = []
    for item in tag.children:
        if not isinstance(item, Tag) or _is_dropped(item):
            continue
        content = _tight(_inner(item)) if item.name == "li" else _list_below(item)
        if content and item.name == "li":
            lines.append(list_item(f"{number}." if tag.name == "ol" else "-", content))
            number += 1
        elif content:
            lines.append("\n".join("  " + line for line in content.split("\n")))
    return "\n".join(lines)


def _list_below(item: Tag) -> str:
    # Some pages put a list right into a list instead of into its item.
    return _list(item) if item.name in ("ul", "ol", "menu") else _inner(item)


def _tight(content: str) -> str:
    """An inner list follows its item's text without an empty line."""
    return re.sub(r"\n\n(?=(?:-|\d+\.) )", "\n", content)


def _rows_of(tag: Tag) -> list[list[Tag]]:
    """The cells of each row, without those of tables inside."""
    return [
        [cell for cell in row.find_all(["td", "th"]) if cell.find_parent("table") is tag]
        for row in tag.find_all("tr")
        if row.find_parent("table") is tag and not _is_dropped(row)
    ]


def _grid(tag: Tag) -> list[list[str]]:
    """Rows of cell texts. A cell over several rows is repeated in each, so that every row can be read alone;
    one over several columns stands in the first."""
    grid = []
    above: dict[int, tuple[int, str]] = {}  # column -> (rows the cell reaches down to from there, text)
    for cells in _rows_of(tag):
        own: dict[int, tuple[int, str]] = {}
        column = 0
        for cell in cells:
            while column in above:
                column += 1
            rows, columns = _span(cell, "rowspan"), _span(cell, "colspan")
            own[column] = (rows, _text(cell))
            own.update((further, (rows, "")) for further in range(column + 1, column + columns))
            column += columns
        row = above | own
        grid.append([row.get(column, (1, ""))[1] for column in range(max(row, default=-1) + 1)])
        above = {column: (rows - 1, text) for column, (rows, text) in row.items() if rows > 1}
    return grid


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name, ""))
    return min(max(int(value), 1), _LARGEST_SPAN) if value.isascii() and value.isdecimal() else 1
