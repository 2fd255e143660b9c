"""Texts to vectors (chapter 02)."""

from ragkit.embedding.base import Embedder, make_embedder, too_long
from ragkit.embedding.cache import CachedEmbedder
from ragkit.embedding.hashing import HashingEmbedder
from ragkit.embedding.models import MultilingualEmbedder, SentenceTransformerEmbedder

__all__ = ["CachedEmbedder", "Embedder", "HashingEmbedder", "MultilingualEmbedder",
           "SentenceTransformerEmbedder", "make_embedder", "too_long"]
