"""Where documents and chunks are kept between runs (chapter 14 adds the engines for several machines)."""

from ragkit.stores.sql import SqlStore

__all__ = ["SqlStore"]
