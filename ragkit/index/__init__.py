"""Vector indexes: an exact search in NumPy to read, the same in FAISS to use (chapter 02).

Both are *flat*: they compare the query with every vector, so nothing is ever missed. A score is the
cosine of the angle between two vectors, in [-1, 1]; higher is nearer. The search itself is done in 32-bit
numbers, which are right to six digits; what it finds is scored once more in 64 bits, rounded to six digits,
and equal scores are ordered by id. So both indexes give the same answer, with and without a filter, in
whatever order vectors were added.

Source: Johnson, Douze & Jégou (2017), "Billion-scale similarity search with GPUs" (FAISS).
"""

from ragkit.index.engines import FaissIndex, NumpyIndex
from ragkit.index.flat import IndexDamagedError, Match, VectorIndex

__all__ = ["FaissIndex", "IndexDamagedError", "Match", "NumpyIndex", "VectorIndex"]
