"""One frozen ``Settings`` for the knowledge base, the command line, TOML files and every comparison.

Every number of the chain that a reader may turn stands here with its default, and nowhere else.
"""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path

CHUNKERS = ("fixed", "sentence", "heading", "hierarchical")
EXPANSIONS = ("none", "parents", "auto_merge")
UNITS = ("characters", "tokens")
GENERATORS = ("extractive", "openai", "local")
ORDERS = ("best_first", "best_at_both_ends")


@dataclass(frozen=True)
class Settings:
    """What the chain does at each link. Wrong values are refused here, naming the value.

    Attributes:
        chunker: how documents are cut: "fixed", "sentence", "heading" or "hierarchical" (chapter 01).
        chunk_size: longest chunk of the three flat chunkers, in ``size_unit``.
        chunk_overlap: what two neighbours share, for "fixed" and "sentence", in ``size_unit``.
        level_sizes: longest chunk of each level of "hierarchical", longest first.
        size_unit: "characters", or "tokens" of the embedder.
        embedder: "minilm", "multilingual", "hashing", or any sentence-transformers name or folder.
        top_k: how many candidates recall brings (chapter 03).
        evidence_top_k: how many distinct contexts are kept at most.
        min_score: inclusive cosine threshold in [0, 1] for evidence; None switches it off.
        expansion: "none", "parents" or "auto_merge" (chapter 04).
        parent_level: the level that "parents" climbs to; 1 is the longest.
        merge_ratio: share of a parent's children that must be hit before "auto_merge" climbs, in (0, 1].
        min_grade: inclusive threshold in [0, 1] for the grade of the evidence, when asking; None does not
            grade (chapter 05).
        context_tokens: the most tokens that the evidence may take in the prompt (chapter 06).
        context_order: "best_first" or "best_at_both_ends".
        generator: who writes answers: "extractive", "openai:MODEL" or "local:PATH" (chapter 07).
    """

    chunker: str = "hierarchical"
    chunk_size: int = 250
    chunk_overlap: int = 0
    level_sizes: tuple[int, ...] = (1200, 600, 250)
    size_unit: str = "characters"
    embedder: str = "minilm"
    top_k: int = 8
    evidence_top_k: int = 4
    min_score: float | None = 0.25
    expansion: str = "parents"
    parent_level: int = 2
    merge_ratio: float = 0.5
    min_grade: float | None = 0.5
    context_tokens: int = 1500
    context_order: str = "best_first"
    generator: str = "extractive"

    def __post_init__(self) -> None:
        if isinstance(self.level_sizes, list):  # as TOML and JSON have it
            object.__setattr__(self, "level_sizes", tuple(self.level_sizes))
        _one_of("chunker", self.chunker, CHUNKERS)
        _one_of("expansion", self.expansion, EXPANSIONS)
        _one_of("size_unit", self.size_unit, UNITS)
        _one_of("context_order", self.context_order, ORDERS)
        for name in ("chunk_size", "top_k", "evidence_top_k", "parent_level", "context_tokens"):
            _whole(name, getattr(self, name), 1)
        _whole("chunk_overlap", self.chunk_overlap, 0)
        _falling("level_sizes", self.level_sizes)
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap ({self.chunk_overlap}) must be smaller than "
                             f"chunk_size ({self.chunk_size})")
        for name in ("min_score", "min_grade"):
            value = getattr(self, name)
            if value is not None and not _within(value, 0.0, 1.0):
                raise ValueError(f"{name} ({value!r}) must lie in [0, 1], or be None for no threshold")
        if not _within(self.merge_ratio, 0.0, 1.0) or self.merge_ratio == 0:
            raise ValueError(f"merge_ratio ({self.merge_ratio!r}) must lie in (0, 1]")
        if not isinstance(self.embedder, str) or not self.embedder.strip():
            raise ValueError(f"embedder ({self.embedder!r}) must be a name or a folder")
        if str(self.generator).partition(":")[0] not in GENERATORS:
            raise ValueError(f"generator ({self.generator!r}) must be 'extractive', 'openai:MODEL' or 'local:PATH'")

    def replace(self, **changes) -> "Settings":
        """A copy with some values changed; an unknown name is an error that lists the known ones."""
        known = {field.name for field in dataclasses.fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"unknown setting {unknown[0]!r}; the settings are {', '.join(sorted(known))}")
        return dataclasses.replace(self, **changes)

    @classmethod
    def from_toml(cls, path: str | Path) -> "Settings":
        """Read a TOML file whose keys are the names above; what it leaves out keeps its default."""
        path = Path(path)
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            return cls().replace(**values)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"{path.name}: {error}") from error

    def to_dict(self) -> dict:
        """The settings as plain data, for JSON and for cache keys."""
        return dataclasses.asdict(self)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} ({value!r}) must be one of {', '.join(choices)}")


def _whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} ({value!r}) must be a whole number of at least {least}")


def _falling(name: str, values: tuple[int, ...]) -> None:
    if not isinstance(values, tuple) or not values:
        raise ValueError(f"{name} ({values!r}) must be a list of sizes, longest first")
    for value in values:
        _whole(name, value, 1)
    if any(later >= earlier for earlier, later in zip(values, values[1:], strict=False)):
        raise ValueError(f"{name} {values!r} must fall from level to level, longest first")


def _within(value: float, low: float, high: float) -> bool:
    # NaN compares false with everything, so it is refused here too.
    return not isinstance(value, bool) and isinstance(value, (int, float)) and low <= value <= high
