"""The two engines: a matrix product in NumPy, and FAISS (chapter 02)."""

from pathlib import Path

import numpy as np

from ragkit.index.flat import FlatIndex


class NumpyIndex(FlatIndex):
    """Exact search as one matrix product: the version to read. Same answers as ``FaissIndex``."""

    suffix = ".npy"

    def __init__(self, dimension: int):
        super().__init__(dimension)
        self.vectors = np.zeros((0, self.dimension), dtype=np.float32)

    def _append(self, vectors: np.ndarray) -> None:
        self.vectors = np.vstack([self.vectors, vectors])

    def _keep(self, keep: np.ndarray) -> None:
        self.vectors = self.vectors[keep]

    def _vectors_at(self, positions: np.ndarray) -> np.ndarray:
        return self.vectors[positions]

    def _nearest(self, query: np.ndarray, k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        scores = self.vectors @ query[0]
        if mask is not None:
            scores[~mask] = -np.inf
        positions = np.argsort(-scores, kind="stable")[:k]
        return positions, scores[positions]

    def _write(self, path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, self.vectors, allow_pickle=False)

    def _read(self, path: Path) -> None:
        self.vectors = np.load(path, allow_pickle=False).astype(np.float32, copy=False)

    def _shape(self) -> tuple[int, ...]:
        return self.vectors.shape


class FaissIndex(FlatIndex):
    """Exact search by FAISS (``IndexFlatIP`` over unit vectors): the version to use."""

    suffix = ".faiss"

    def __init__(self, dimension: int):
        import faiss

        super().__init__(dimension)
        self._faiss = faiss
        self._index = faiss.IndexFlatIP(self.dimension)
        self._rows: np.ndarray | None = None
        self._last: tuple = (None, None)

    def _append(self, vectors: np.ndarray) -> None:
        self._rows = None  # FAISS may move its memory
        self._index.add(vectors)

    def _keep(self, keep: np.ndarray) -> None:
        self._rows = None
        self._index.remove_ids(np.flatnonzero(~keep))

    def _vectors_at(self, positions: np.ndarray) -> np.ndarray:
        if not self.ids:
            return np.zeros((0, self.dimension), dtype=np.float32)
        if self._rows is None:  # a view of FAISS's own memory: no copy, and quicker than asking row by row
            self._rows = self._faiss.rev_swig_ptr(self._index.get_xb(), self._index.ntotal * self.dimension)
            self._rows = self._rows.reshape(-1, self.dimension)
        return self._rows.take(positions, axis=0)

    def _nearest(self, query: np.ndarray, k: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        if mask is None:
            scores, positions = self._index.search(query, k)
        else:
            scores, positions = self._index.search(query, k, params=self._parameters(mask))
        if positions[0, -1] < 0:  # FAISS pads with -1 when it finds fewer than k
            k = int(np.count_nonzero(positions[0] >= 0))
        return positions[0, :k], scores[0, :k]

    def _parameters(self, mask: np.ndarray):
        known, parameters = self._last
        if known is mask:
            return parameters
        selector = self._faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        parameters = self._faiss.SearchParameters(sel=selector)
        if not mask.flags.writeable:  # it cannot change, so what it was turned into holds for the next search
            self._last = (mask, parameters)
        return parameters

    def _write(self, path: Path) -> None:
        self._faiss.write_index(self._index, str(path))

    def _read(self, path: Path) -> None:
        self._rows = None
        self._index = self._faiss.read_index(str(path))
        if not isinstance(self._index, self._faiss.IndexFlatIP):
            raise ValueError(f"{path.name} holds another kind of FAISS index")

    def _shape(self) -> tuple[int, ...]:
        return (self._index.ntotal, self._index.d)
