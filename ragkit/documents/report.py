"""What loading a folder gave: documents, what was left out or mended, why, and what to do (chapter 01)."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.documents.model import Document


@dataclass(frozen=True)
class LoadProblem:
    """A file (or kind of file) that was left out or mended: which, why, and the way out."""

    source: str
    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}. {self.advice}".rstrip()


@dataclass(frozen=True)
class LoadReport(Sequence):
    """The documents of a folder, sorted by id and version; `len`, iteration and indexing go over them.

    `problems` are files that could not become documents; `warnings` are worth knowing but stopped nothing.
    """

    documents: tuple[Document, ...]
    problems: tuple[LoadProblem, ...] = ()
    warnings: tuple[LoadProblem, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index):
        return self.documents[index]

    def _summary(self) -> str:
        counts = ((len(self), "document"), (len(self.problems), "problem"), (len(self.warnings), "warning"))
        return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)

    def __str__(self) -> str:
        lines = [self._summary()]
        lines += [f"  problem: {problem}" for problem in self.problems]
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [("problem", entry) for entry in self.problems] + [
            ("warning", entry) for entry in self.warnings
        ]
        summary = f"<p>{self._summary()}</p>"
        if not rows:
            return summary
        cells = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align: left">{html.escape(text)}</td>'
                for text in (kind, entry.source, entry.reason, entry.advice)
            )
            + "</tr>"
            for kind, entry in rows
        )
        head = "<tr><th></th><th>file</th><th>why</th><th>what to do</th></tr>"
        return f"{summary}<table><thead>{head}</thead><tbody>{cells}</tbody></table>"
