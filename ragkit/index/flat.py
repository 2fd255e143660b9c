"""What every flat index shares: the protocol, checks at the door, the order of equal scores, saving (chapter 02)."""

import hashlib
import json
import math
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np

DIGITS = 6
MARGIN = 3 * 10**-DIGITS  # 32-bit scores closer than this may stand in the wrong order
UNIT = 1e-6  # a vector whose length differs from 1 by less is a unit vector, as 32 bits go
FORMAT = 1


class Match(NamedTuple):
    """One found vector: its id and its cosine with the query."""

    id: str
    score: float


class IndexDamagedError(ValueError):
    """A saved index that is missing a part, or whose parts do not belong together. Build it anew."""


class VectorIndex(Protocol):
    """What the chain needs of an index. ``allowed`` is a collection of ids, or a boolean mask over ``ids``."""

    dimension: int
    ids: Sequence[str]

    def add(self, ids: Sequence[str], vectors: np.ndarray) -> None: ...
    def remove(self, ids: Collection[str]) -> None: ...
    def reconstruct(self, ids: Sequence[str]) -> np.ndarray: ...
    def search(self, vector: np.ndarray, k: int,
               allowed: Collection[str] | np.ndarray | None = None) -> list[Match]: ...
    def save(self, path: str | Path) -> None: ...
    @classmethod
    def load(cls, path: str | Path) -> Self: ...


class FlatIndex:
    """What both indexes share: ids, checks at the door, the order of equal scores, and the JSON half."""

    suffix: str

    def __init__(self, dimension: int):
        if isinstance(dimension, bool) or not isinstance(dimension, (int, np.integer)) or dimension < 1:
            raise ValueError(f"dimension ({dimension!r}) must be a whole number of at least 1")
        self.dimension = int(dimension)
        self.ids: list[str] = []
        self._position: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._position

    def add(self, ids: Sequence[str], vectors: np.ndarray) -> None:
        """Add ``vectors``, shape (n, dimension), under ``ids``. Rows are scaled to length 1.

        Raises:
            ValueError: wrong shape (both numbers named), not a number, or an id that is there already.
        """
        ids = list(ids)
        vectors = np.asarray(vectors, dtype=np.float32)
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise ValueError(f"vectors have shape {vectors.shape}; this index needs (n, {self.dimension})")
        if len(ids) != len(vectors):
            raise ValueError(f"{len(ids)} ids for {len(vectors)} vectors; each vector needs one id")
        seen: set[str] = set()
        for id_ in ids:
            if id_ in self._position or id_ in seen:
                raise ValueError(f"id {id_!r} is in the index already; remove it first")
            seen.add(id_)
        _refuse_nan(vectors, "a vector to add")
        self._append(_unit(vectors))
        for id_ in ids:
            self._position[id_] = len(self.ids)
            self.ids.append(id_)

    def remove(self, ids: Collection[str]) -> None:
        """Remove ``ids``. An id that is not there is an error naming it, and nothing is removed."""
        gone = {ids} if isinstance(ids, str) else set(ids)
        for id_ in sorted(gone):
            if id_ not in self._position:
                raise KeyError(f"id {id_!r} is not in the index")
        keep = np.fromiter((id_ not in gone for id_ in self.ids), dtype=bool, count=len(self.ids))
        self._keep(keep)
        self.ids = [id_ for id_ in self.ids if id_ not in gone]
        self._position = {id_: position for position, id_ in enumerate(self.ids)}

    def reconstruct(self, ids: Sequence[str]) -> np.ndarray:
        """The stored vectors of ``ids``, float32 (n, dimension), in that order."""
        return self._vectors_at(np.array([self._position[id_] for id_ in ids], dtype=np.int64))

    def mask(self, allowed: Collection[str]) -> np.ndarray:
        """Boolean array over ``ids`` for a collection of ids; ids that are not in the index do not count."""
        allowed = {allowed} if isinstance(allowed, str) else set(allowed)
        mask = np.zeros(len(self.ids), dtype=bool)
        mask[[self._position[id_] for id_ in allowed if id_ in self._position]] = True
        return mask

    def search(self, vector: np.ndarray, k: int,
               allowed: Collection[str] | np.ndarray | None = None) -> list[Match]:
        """The ``k`` nearest of the allowed vectors, best first; fewer when fewer are allowed.

        Args:
            vector: shape (dimension,); need not have length 1.
            k: at least 1.
            allowed: a collection of ids, or a boolean mask over ``ids``; None allows all.
        """
        vector = np.asarray(vector, dtype=np.float32)
        if vector.shape != (self.dimension,):
            raise ValueError(f"the query vector has shape {vector.shape}; this index needs ({self.dimension},)")
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k ({k!r}) must be a whole number of at least 1")
        wide = vector.astype(np.float64)
        length = math.sqrt(wide.dot(wide))
        if not math.isfinite(length):
            _refuse_nan(vector, "the query vector")
        if length and abs(length - 1) > UNIT:
            wide /= length
            vector = wide.astype(np.float32)
        mask = self._as_mask(allowed)
        available = len(self.ids) if mask is None else int(np.count_nonzero(mask))
        k = min(int(k), available)
        if k == 0:
            return []
        # One more than asked for shows whether a tie runs across the cut. Then the cut moves until it
        # does not, for else which of the equal ones come back would depend on the order of adding.
        reach = min(k + 1, available)
        while True:
            positions, rough = self._nearest(vector[None, :], reach, mask)
            if reach == available or rough[-1] < rough[k - 1] - MARGIN:
                break
            reach = min(2 * reach, available)
        # Summed row by row: in a matrix product a row's sum may depend on the rows around it.
        scores = np.vecdot(self._vectors_at(positions).astype(np.float64), wide)
        found = sorted([(-round(score, DIGITS), self.ids[position])
                        for position, score in zip(positions.tolist(), scores.tolist(), strict=True)])
        return [Match(id_, 0.0 - negative) for negative, id_ in found[:k]]  # 0 - x is never the -0.0 that -x can be

    def _as_mask(self, allowed: Collection[str] | np.ndarray | None) -> np.ndarray | None:
        if allowed is None:
            return None
        if isinstance(allowed, np.ndarray) and allowed.dtype == bool:
            if allowed.shape != (len(self.ids),):
                raise ValueError(f"the mask has shape {allowed.shape}; this index holds {len(self.ids)} vectors")
            return allowed
        return self.mask(allowed)

    def save(self, path: str | Path) -> None:
        """Write ``path`` + the index's suffix, and ``path.json`` with ids and a checksum.

        Each is written under a temporary name and renamed, vectors first: a crash in between leaves a
        pair whose checksum does not fit, which ``load`` recognises. Nothing is ever pickled.
        """
        vectors_path, json_path = self._files(path)
        vectors_path.parent.mkdir(parents=True, exist_ok=True)
        temporary = vectors_path.with_name(f"{vectors_path.name}.{os.getpid()}.tmp")
        self._write(temporary)
        head = {"format": FORMAT, "kind": type(self).__name__, "dimension": self.dimension,
                "sha256": _checksum(temporary), "ids": self.ids}
        os.replace(temporary, vectors_path)
        temporary = json_path.with_name(f"{json_path.name}.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(head), encoding="utf-8")
        os.replace(temporary, json_path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote.

        Raises:
            IndexDamagedError: a part is missing, unreadable, or does not belong to the other.
        """
        vectors_path, json_path = cls._files(path)
        for part in (json_path, vectors_path):
            if not part.is_file():
                raise IndexDamagedError(f"{part.name} is missing; build the index anew")
        try:
            head = json.loads(json_path.read_text(encoding="utf-8"))
            ids, dimension, sha256 = head["ids"], head["dimension"], head["sha256"]
            kind, version = head["kind"], head["format"]
            ids, dimension = list(ids), int(dimension)
        except (ValueError, KeyError, TypeError) as error:
            raise IndexDamagedError(f"{json_path.name} cannot be read ({error}); build the index anew") from error
        if (kind, version) != (cls.__name__, FORMAT):
            raise IndexDamagedError(f"{json_path.name} is of a {kind}, format {version}, not of a "
                                    f"{cls.__name__}, format {FORMAT}; build the index anew")
        if _checksum(vectors_path) != sha256:
            raise IndexDamagedError(f"{vectors_path.name} does not belong to {json_path.name} "
                                    "(its checksum differs); build the index anew")
        index = cls(dimension)
        try:
            index._read(vectors_path)
        except (ValueError, RuntimeError, EOFError) as error:
            raise IndexDamagedError(f"{vectors_path.name} cannot be read; build the index anew") from error
        index.ids = ids
        index._position = {id_: position for position, id_ in enumerate(index.ids)}
        if index._shape() != (len(index._position), dimension) or len(index._position) != len(index.ids):
            raise IndexDamagedError(f"{vectors_path.name} holds {index._shape()}, {json_path.name} names "
                                    f"{(len(index.ids), dimension)}; build the index anew")
        return index

    @classmethod
    def _files(cls, path: str | Path) -> tuple[Path, Path]:
        path = Path(path)
        return path.with_name(path.name + cls.suffix), path.with_name(path.name + ".json")


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; a row of zeros stays as it is (its cosine with anything is 0)."""
    # The squares of very long and very short vectors do not fit into 32 bits.
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))[:, None]
    unit = np.empty(vectors.shape, dtype=np.float32)
    return np.divide(vectors, np.where(lengths == 0, 1, lengths), out=unit, casting="same_kind")


def _refuse_nan(vectors: np.ndarray, what: str) -> None:
    if not np.isfinite(vectors).all():
        raise ValueError(f"{what} holds NaN or infinity; look at the text it was made from")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
